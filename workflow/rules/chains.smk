# Chains: one job for each algorithm, model, epsilon and seed.


def chain_settings(wildcards):
    return as_json(
        study.chain(wildcards.model, wildcards.algorithm, wildcards.epsilon, int(wildcards.seed))
    )


def chain_memory(wildcards):
    return megabytes_of_dataset(wildcards.model, copies=1)


rule run_chain:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
        reference=f"{RESULTS}/reference/{{model}}.npz",
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
    output:
        f"{RESULTS}/chains/{{model}}/{{algorithm}}/epsilon-{{epsilon}}/seed-{{seed}}.npz",
    log:
        f"{RESULTS}/logs/chain/{{model}}/{{algorithm}}/epsilon-{{epsilon}}/seed-{{seed}}.log",
    params:
        spec=chain_settings,
        source=CHAIN_SOURCE,
    resources:
        mem_mb=chain_memory,
        runtime=30,
    conda:
        CONDA
    message:
        "Chain {wildcards.seed} of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
    shell:
        "python -m dpmcmc chain --spec {params.spec:q} --dataset {input.dataset:q}"
        " --reference {input.reference:q} --budget {input.budget:q} --output {output:q}"
        " > {log:q} 2>&1"
