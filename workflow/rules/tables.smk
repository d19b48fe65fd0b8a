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
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("baseline-table"),
    message:
        "Metrics of exact samples and start points of {wildcards.model}"
    shell:
        "python -m dpmcmc baseline-table --spec @/dev/stdin --reference {input.reference:q}"
        " --baselines {input.baselines:q} --output {output.baselines:q}"
        " --starts {output.starts:q} <<< {params.spec:q} > {log:q} 2>&1"


rule tabulate_accounting_curves:
    input:
        curves=accounting_curves,
    output:
        table=f"{RESULTS}/tables/accounting.csv",
    log:
        f"{RESULTS}/logs/accounting-table.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("joined-table"),
    message:
        "Table of the accounting curves"
    shell:
        "printf '%s\\n' {input.curves:q} | python -m dpmcmc joined-table --parts @/dev/stdin"
        " --output {output.table:q} > {log:q} 2>&1"


rule tabulate_certifications:
    input:
        certifications=certifications,
    output:
        table=f"{RESULTS}/tables/certified.csv",
    log:
        f"{RESULTS}/logs/certification-table.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("joined-table"),
    message:
        "Table of the certified costs"
    shell:
        "printf '%s\\n' {input.certifications:q} | python -m dpmcmc joined-table --parts @/dev/stdin"
        " --output {output.table:q} > {log:q} 2>&1"


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


rule tabulate_intervals:
    input:
        intervals=expand(f"{PARTS}/{{model}}/intervals.csv", model=study.interval_models),
    output:
        table=f"{RESULTS}/tables/intervals.csv",
    log:
        f"{RESULTS}/logs/interval-table.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("joined-table"),
    message:
        "Table of the intervals"
    shell:
        "printf '%s\\n' {input.intervals:q} | python -m dpmcmc joined-table --parts @/dev/stdin"
        " --output {output.table:q} > {log:q} 2>&1"


rule tabulate_study:
    input:
        chains=expand(f"{PARTS}/{{model}}/chains.csv", model=study.model_ids),
        timings=expand(f"{PARTS}/{{model}}/timings.csv", model=study.model_ids),
        baselines=expand(f"{PARTS}/{{model}}/baselines.csv", model=study.model_ids),
        starts=expand(f"{PARTS}/{{model}}/starts.csv", model=study.model_ids),
        budgets=expand(f"{PARTS}/{{model}}/budgets.csv", model=study.model_ids),
        mixing=expand(f"{PARTS}/{{model}}/mixing.csv", model=study.model_ids),
    output:
        tables=table_files(study.tables),
    log:
        f"{RESULTS}/logs/study-tables.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("study-tables"),
        directory=subpath(output[0], parent=True),
    message:
        "Tables of the study"
    shell:
        "python -m dpmcmc study-tables --spec @/dev/stdin --chains {input.chains:q}"
        " --timings {input.timings:q} --baselines {input.baselines:q} --starts {input.starts:q}"
        " --budgets {input.budgets:q} --mixing {input.mixing:q} --output {params.directory:q}"
        " <<< {params.spec:q} > {log:q} 2>&1"


if study.analysis_tables:

    rule analyse_study:
        input:
            chains=f"{RESULTS}/tables/chains.csv",
            baselines=f"{RESULTS}/tables/baselines.csv",
            starts=f"{RESULTS}/tables/starts.csv",
            models=f"{RESULTS}/tables/models.csv",
            summary=table_files(["summary"] if "summary" in study.tables else []),
            accounting=table_files(["accounting"] if study.accounting_curves else []),
        output:
            tables=table_files(study.analysis_tables),
        log:
            f"{RESULTS}/logs/analysis-tables.log",
        conda:
            CONDA
        resources:
            mem_mb=megabytes(500),
            runtime=minutes(10),
        params:
            **job("analysis-tables"),
            directory=subpath(output[0], parent=True),
        message:
            "Ranking of the algorithms and the chapter's claims"
        shell:
            "python -m dpmcmc analysis-tables --spec @/dev/stdin --chains {input.chains:q}"
            " --baselines {input.baselines:q} --starts {input.starts:q} --models {input.models:q}"
            " --summary {input.summary:q} --accounting {input.accounting:q} --output {params.directory:q} <<< {params.spec:q} > {log:q} 2>&1"
