# Data sets and posterior samples.


rule simulate_dataset:
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
        "python -m dpmcmc dataset --spec @/dev/stdin --output {output.dataset:q} <<< {params.spec:q} > {log:q} 2>&1"


rule draw_reference:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
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
    message:
        "Draw the reference sample of {wildcards.model}"
    shell:
        "python -m dpmcmc reference --spec @/dev/stdin --dataset {input.dataset:q}"
        " --output {output.reference:q} <<< {params.spec:q} > {log:q} 2>&1"


rule draw_baselines:
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
        "python -m dpmcmc baselines --spec @/dev/stdin --dataset {input.dataset:q}"
        " --output {output.baselines:q} <<< {params.spec:q} > {log:q} 2>&1"
