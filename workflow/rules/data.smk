# Data sets and posterior samples.


rule dataset:
    output:
        dataset=f"{RESULTS}/data/{{model}}.npy",
    log:
        f"{RESULTS}/logs/dataset/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500, data_sets=3),
        runtime=minutes(10),
    params:
        **job("dataset"),
    message:
        "Make the data set of {wildcards.model}"
    shell:
        JOBS["dataset"].command


rule reference:
    input:
        dataset=unless_reused("reference/{model}", f"{RESULTS}/data/{{model}}.npy"),
    output:
        reference=f"{RESULTS}/reference/{{model}}.npy",
    log:
        f"{RESULTS}/logs/reference/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500, data_sets=3),
        runtime=minutes(reference_minutes),
    params:
        **job("reference"),
        committed=lambda wildcards: reuse.file(f"reference/{wildcards.model}"),
    message:
        "Draw the reference sample of {wildcards.model}"
    shell:
        JOBS["reference"].command


rule baselines:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
    output:
        baselines=f"{RESULTS}/baselines/{{model}}.npy",
    log:
        f"{RESULTS}/logs/baselines/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500, data_sets=3),
        runtime=minutes(reference_minutes),
    params:
        **job("baselines"),
    message:
        "Draw the baseline samples of {wildcards.model}"
    shell:
        JOBS["baselines"].command
