# Chains: one job for each algorithm, model, epsilon and seed.


rule run_chain:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
        reference=f"{RESULTS}/reference/{{model}}.npy",
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
        correction=correction_of_chain,
    output:
        chain=f"{RESULTS}/chains/{{model}}/{{algorithm}}/epsilon-{{epsilon}}/seed-{{seed}}.npz",
    log:
        f"{RESULTS}/logs/chain/{{model}}/{{algorithm}}/epsilon-{{epsilon}}/seed-{{seed}}.log",
    priority: chain_priority
    conda:
        CONDA
    resources:
        mem_mb=chain_memory,
        runtime=chain_runtime,
    params:
        spec=chain_settings,
        source=CHAIN_SOURCE,
    message:
        "Chain {wildcards.seed} of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
    shell:
        "python -m dpmcmc chain --spec {params.spec:q} --dataset {input.dataset:q}"
        " --reference {input.reference:q} --budget {input.budget:q} --correction {input.correction:q} --output {output.chain:q}"
        " > {log:q} 2>&1"
