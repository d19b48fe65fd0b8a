# Chains: one job for each model, algorithm, run and seed. A run is an epsilon, or iterations, with
# the values that a sweep varies.


rule chain:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
        reference=f"{RESULTS}/reference/{{model}}.npy",
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/{{run}}.json",
        precomputed=precomputed_files,
    output:
        chain=f"{RESULTS}/chains/{{model}}/{{algorithm}}/{{run}}/seed-{{seed}}.npz",
    log:
        f"{RESULTS}/logs/chain/{{model}}/{{algorithm}}/{{run}}/seed-{{seed}}.log",
    priority: chain_priority
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500, data_sets=1),
        runtime=minutes(30),
    params:
        **job("chain"),
    message:
        "Chain {wildcards.seed} of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        JOBS["chain"].command
