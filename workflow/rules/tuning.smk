# Settings with the least score ratio, searched on simulated twins: one job for each model, algorithm
# and epsilon.

SEARCH = f"{RESULTS}/tuning/{{model}}/{{algorithm}}/epsilon-{{epsilon}}"


rule twins:
    output:
        twins=f"{RESULTS}/tuning/{{model}}/twins.npz",
    log:
        f"{RESULTS}/logs/twins/{{model}}.log",
    wildcard_constraints:
        model=any_of(model for model, _, _ in study.searches),
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000, data_sets=30),
        runtime=minutes(240),
    params:
        **job("twins"),
    message:
        "Simulate the twins of {wildcards.model} for searches"
    shell:
        JOBS["twins"].command


rule search:
    input:
        twins=f"{RESULTS}/tuning/{{model}}/twins.npz",
        precomputed=precomputed_files,
    output:
        table=f"{SEARCH}.csv",
        best=f"{SEARCH}.json",
    log:
        f"{RESULTS}/logs/search/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.log",
    wildcard_constraints:
        model=any_of(model for model, _, _ in study.searches),
        algorithm=any_of(name for _, name, _ in study.searches),
        epsilon=any_of(epsilon for _, _, epsilon in study.searches),
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1500, data_sets=30),
        runtime=minutes(720),
    params:
        **job("search"),
        # No output, which Snakemake would delete: a search that was killed goes on from it.
        journal=f"{SEARCH}.journal",
    message:
        "Search settings of {wildcards.algorithm} on {wildcards.model} at {wildcards.epsilon}"
    shell:
        JOBS["search"].command


rule tuning_tables:
    input:
        trials=[
            f"{SEARCH}.csv".format(model=m, algorithm=a, epsilon=e) for m, a, e in study.searches
        ],
        best=[
            f"{SEARCH}.json".format(model=m, algorithm=a, epsilon=e) for m, a, e in study.searches
        ],
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
