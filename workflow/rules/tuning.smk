# Settings with the least MMD, searched on data simulated apart: one job for each algorithm and model.

SEARCH = f"{RESULTS}/tuning/{{model}}/{{algorithm}}"


rule search:
    input:
        precomputed=precomputed_files,
    output:
        table=f"{SEARCH}.csv",
        best=f"{SEARCH}.json",
    log:
        f"{RESULTS}/logs/search/{{model}}/{{algorithm}}.log",
    wildcard_constraints:
        model=any_of(model for model, _ in study.searches),
        algorithm=any_of(name for _, name in study.searches),
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1500, data_sets=3),
        runtime=minutes(720),
    params:
        **job("search"),
        # No output, which Snakemake would delete: a search that was killed goes on from it.
        journal=f"{SEARCH}.journal",
    message:
        "Search settings of {wildcards.algorithm} on {wildcards.model}"
    shell:
        JOBS["search"].command


rule tuning_tables:
    input:
        trials=[f"{RESULTS}/tuning/{m}/{a}.csv" for m, a in study.searches],
        best=[f"{RESULTS}/tuning/{m}/{a}.json" for m, a in study.searches],
    output:
        trials=f"{RESULTS}/tuning/trials.csv",
        summary=f"{RESULTS}/tuning/summary.csv",
        settings=f"{RESULTS}/tuning/settings.yaml",
    log:
        f"{RESULTS}/logs/tuning_tables.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("tuning_tables"),
        directory=subpath(output[0], parent=True),
    message:
        "Settings found, and how far the study's own are from them"
    shell:
        JOBS["tuning_tables"].command
