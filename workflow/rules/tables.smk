# Metrics of every chain, and the tables of the study.

PARTS = f"{RESULTS}/tables/models"


rule chain_table:
    input:
        reference=reference_of("chains"),
        files=chains_of("chains", budgets=True),
    output:
        chains=f"{PARTS}/{{model}}/chains.csv",
        timings=f"{PARTS}/{{model}}/timings.csv",
        budgets=f"{PARTS}/{{model}}/budgets.csv",
        mixing=f"{PARTS}/{{model}}/mixing.csv",
    log:
        f"{RESULTS}/logs/chain_table/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        **job("chain_table"),
        rows=rows_of("chains"),
        results=subpath(output[0], ancestor=4),
    message:
        "Metrics of all chains of {wildcards.model}"
    shell:
        JOBS["chain_table"].command


rule score_table:
    input:
        reference=reference_of("scores"),
        files=chains_of("scores"),
    output:
        scores=f"{PARTS}/{{model}}/scores.csv",
    log:
        f"{RESULTS}/logs/score_table/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        **job("score_table"),
        rows=rows_of("scores"),
        results=subpath(output[0], ancestor=4),
    message:
        "Scores of all chains of {wildcards.model}"
    shell:
        JOBS["score_table"].command


rule baseline_table:
    input:
        reference=unless_reused("baselines/{model}", f"{RESULTS}/reference/{{model}}.npy"),
        baselines=unless_reused("baselines/{model}", f"{RESULTS}/baselines/{{model}}.npy"),
    output:
        exact=f"{PARTS}/{{model}}/baselines.csv",
        starts=f"{PARTS}/{{model}}/starts.csv",
    log:
        f"{RESULTS}/logs/baseline_table/{{model}}.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("baseline_table"),
        rows=lambda wildcards: text_of(reuse.rows(f"baselines/{wildcards.model}")),
    message:
        "Metrics of exact samples and start points of {wildcards.model}"
    shell:
        JOBS["baseline_table"].command


rule intervals:
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
        JOBS["intervals"].command


rule joined_table:
    input:
        parts=parts_of_table,
    output:
        table=f"{RESULTS}/tables/{{joined}}.csv",
    log:
        f"{RESULTS}/logs/joined_table/{{joined}}.log",
    wildcard_constraints:
        joined=any_of(JOINED),
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("joined_table"),
        rows=lambda wildcards: text_of(reuse.rows(*JOINED[wildcards.joined]), is_ordered=True),
    message:
        "Table {wildcards.joined}"
    shell:
        JOBS["joined_table"].command


rule study_tables:
    input:
        parts=expand(f"{PARTS}/{{model}}/{{name}}.csv", name=MEASURED, model=study.model_ids)
        + expand(f"{PARTS}/{{model}}/scores.csv", model=study.scored_models),
    output:
        tables=table_files(study.tables),
    log:
        f"{RESULTS}/logs/study_tables.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("study_tables"),
        directory=subpath(output[0], parent=True),
    message:
        "Tables of the study"
    shell:
        JOBS["study_tables"].command


if study.derived_tables:

    rule analysis_tables:
        input:
            given=table_files(study.analysed_tables),
        output:
            tables=table_files(study.derived_tables),
        log:
            f"{RESULTS}/logs/analysis_tables.log",
        conda:
            CONDA
        resources:
            **SMALL,
        params:
            **job("analysis_tables"),
            directory=subpath(output[0], parent=True),
        message:
            "Ranking of the algorithms and the chapter's claims"
        shell:
            JOBS["analysis_tables"].command
