# Settings with the least MMD, searched on data simulated apart: one job for each algorithm and model.

SEARCH = f"{RESULTS}/tuning/{{model}}/{{algorithm}}"


rule search_settings:
    input:
        needed=needed_files,
    output:
        trials=f"{SEARCH}.csv",
        best=f"{SEARCH}.json",
    log:
        f"{RESULTS}/logs/tuning/{{model}}/{{algorithm}}.log",
    wildcard_constraints:
        model=any_of(study.tuning["models"]),
        algorithm=any_of(study.tuning["algorithms"]),
    conda:
        CONDA
    resources:
        mem_mb=search_memory,
        runtime=search_runtime,
    params:
        spec=search_settings,
        # No output, which Snakemake would delete: a search that was killed goes on from it.
        journal=f"{SEARCH}.journal",
    message:
        "Search settings of {wildcards.algorithm} on {wildcards.model}"
    shell:
        "python -m dpmcmc search --spec {params.spec:q} --needed {input.needed:q}"
        " --journal {params.journal:q} --output {output.trials:q} --best {output.best:q}"
        " > {log:q} 2>&1"


rule tabulate_searches:
    input:
        trials=[f"{RESULTS}/tuning/{m}/{a}.csv" for m, a in study.searches],
        best=[f"{RESULTS}/tuning/{m}/{a}.json" for m, a in study.searches],
    output:
        trials=f"{RESULTS}/tuning/trials.csv",
        summary=f"{RESULTS}/tuning/summary.csv",
        settings=f"{RESULTS}/tuning/settings.yaml",
    log:
        f"{RESULTS}/logs/tuning-tables.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        source=TUNING_SOURCE,
        directory=subpath(output[0], parent=True),
    message:
        "Settings found, and how far the study's own are from them"
    shell:
        "python -m dpmcmc tuning-tables --trials {input.trials:q} --best {input.best:q}"
        " --output {params.directory:q} > {log:q} 2>&1"
