# Metrics of every chain, and the tables of the study.

PARTS = f"{RESULTS}/tables/models"


rule tabulate_chains:
    input:
        reference=f"{RESULTS}/reference/{{model}}.npy",
        chains=chains_of_model,
        budgets=budgets_of_model,
    output:
        chains=f"{PARTS}/{{model}}/chains.csv",
        timings=f"{PARTS}/{{model}}/timings.csv",
        budgets=f"{PARTS}/{{model}}/budgets.csv",
        mixing=f"{PARTS}/{{model}}/mixing.csv",
    log:
        f"{RESULTS}/logs/chain-table/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        **job("chain-table"),
        chains=f"{RESULTS}/chains/{{model}}",
        budgets=f"{RESULTS}/budgets/{{model}}",
    message:
        "Metrics of all chains of {wildcards.model}"
    shell:
        "python -m dpmcmc chain-table --spec @/dev/stdin --reference {input.reference:q}"
        " --chains {params.chains:q} --budgets {params.budgets:q} --output {output.chains:q}"
        " --timings {output.timings:q} --budget-table {output.budgets:q}"
        " --mixing {output.mixing:q} <<< {params.spec:q} > {log:q} 2>&1"


rule tabulate_baselines:
    input:
        reference=f"{RESULTS}/reference/{{model}}.npy",
        baselines=f"{RESULTS}/baselines/{{model}}.npy",
    output:
        baselines=f"{PARTS}/{{model}}/baselines.csv",
        starts=f"{PARTS}/{{model}}/starts.csv",
    log:
        f"{RESULTS}/logs/baseline-table/{{model}}.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("baseline-table"),
    message:
        "Metrics of exact samples and start points of {wildcards.model}"
    shell:
        "python -m dpmcmc baseline-table --spec @/dev/stdin --reference {input.reference:q}"
        " --baselines {input.baselines:q} --output {output.baselines:q}"
        " --starts {output.starts:q} <<< {params.spec:q} > {log:q} 2>&1"


rule try_intervals:
    output:
        intervals=f"{PARTS}/{{model}}/intervals.csv",
    log:
        f"{RESULTS}/logs/intervals/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000, data_sets=4),
        runtime=minutes(240),
    params:
        **job("intervals"),
    message:
        "Intervals over data sets of {wildcards.model}"
    shell:
        "python -m dpmcmc intervals --spec @/dev/stdin --output {output.intervals:q} <<< {params.spec:q} > {log:q} 2>&1"


rule join_table:
    input:
        parts=lambda wildcards: JOINED[wildcards.joined],
    output:
        table=f"{RESULTS}/tables/{{joined}}.csv",
    log:
        f"{RESULTS}/logs/{{joined}}-table.log",
    wildcard_constraints:
        joined=any_of(JOINED),
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("joined-table"),
    message:
        "Table {wildcards.joined}"
    shell:
        "printf '%s\\n' {input.parts:q} | python -m dpmcmc joined-table --parts @/dev/stdin"
        " --output {output.table:q} > {log:q} 2>&1"


rule tabulate_study:
    input:
        parts=expand(f"{PARTS}/{{model}}/{{name}}.csv", name=MEASURED, model=study.model_ids),
    output:
        tables=table_files(study.tables),
    log:
        f"{RESULTS}/logs/study-tables.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("study-tables"),
        directory=subpath(output[0], parent=True),
    message:
        "Tables of the study"
    shell:
        "python -m dpmcmc study-tables --spec @/dev/stdin --parts {input.parts:q}"
        " --output {params.directory:q} <<< {params.spec:q} > {log:q} 2>&1"


if study.analysis_tables:

    rule analyse_study:
        input:
            given=table_files(study.analysed_tables),
        output:
            tables=table_files(study.analysis_tables),
        log:
            f"{RESULTS}/logs/analysis-tables.log",
        conda:
            CONDA
        resources:
            **SMALL,
        params:
            **job("analysis-tables"),
            directory=subpath(output[0], parent=True),
        message:
            "Ranking of the algorithms and the chapter's claims"
        shell:
            "python -m dpmcmc analysis-tables --spec @/dev/stdin --given {input.given:q}"
            " --output {params.directory:q} <<< {params.spec:q} > {log:q} 2>&1"
