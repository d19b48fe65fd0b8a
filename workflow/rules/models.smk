# Data sets and exact posterior samples.


def dataset_settings(wildcards):
    return as_json(study.dataset(wildcards.model))


def reference_settings(wildcards):
    return as_json(study.reference(wildcards.model))


def dataset_memory(wildcards):
    return megabytes_of_dataset(wildcards.model, copies=3)


rule simulate_dataset:
    output:
        f"{RESULTS}/data/{{model}}.npy",
    log:
        f"{RESULTS}/logs/dataset/{{model}}.log",
    params:
        spec=dataset_settings,
        source=MODEL_SOURCE,
    resources:
        mem_mb=dataset_memory,
        runtime=10,
    conda:
        CONDA
    message:
        "Simulate the data set of {wildcards.model}"
    shell:
        "python -m dpmcmc dataset --spec {params.spec:q} --output {output:q} > {log:q} 2>&1"


rule draw_reference:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
    output:
        f"{RESULTS}/reference/{{model}}.npz",
    log:
        f"{RESULTS}/logs/reference/{{model}}.log",
    params:
        spec=reference_settings,
        source=MODEL_SOURCE,
    resources:
        mem_mb=dataset_memory,
        runtime=10,
    conda:
        CONDA
    message:
        "Draw the reference and baseline samples of {wildcards.model}"
    shell:
        "python -m dpmcmc reference --spec {params.spec:q} --dataset {input.dataset:q}"
        " --output {output:q} > {log:q} 2>&1"
