# The clipping study of section 6.2: one job for each model, algorithm, clip bound and seed.

CLIPPING = f"{RESULTS}/clipping/{{model}}"


rule run_clipped_chain:
    input:
        dataset=f"{RESULTS}/data/{{model}}.npy",
    output:
        chain=f"{CLIPPING}/{{clipped}}/bound-{{bound}}/seed-{{seed}}.npz",
    log:
        f"{RESULTS}/logs/clipping/{{model}}/{{clipped}}/bound-{{bound}}/seed-{{seed}}.log",
    priority: chain_priority
    conda:
        CONDA
    resources:
        mem_mb=chain_memory,
        runtime=chain_runtime,
    params:
        spec=clipped_chain_settings,
        source=CHAIN_SOURCE,
    message:
        "Chain {wildcards.seed} of {wildcards.clipped} on {wildcards.model}, clipped at {wildcards.bound}"
    shell:
        "python -m dpmcmc clipped-chain --spec {params.spec:q} --dataset {input.dataset:q}"
        " --output {output.chain:q} > {log:q} 2>&1"


rule tabulate_clipped_chains:
    input:
        reference=f"{RESULTS}/reference/{{model}}.npy",
        chains=clipped_chains_of_model,
    output:
        chains=f"{RESULTS}/tables/models/{{model}}/clipping.csv",
    log:
        f"{RESULTS}/logs/clipping-table/{{model}}.log",
    conda:
        CONDA
    resources:
        mem_mb=table_memory,
        runtime=table_runtime,
    params:
        spec=clipping_table_settings,
        source=METRICS_SOURCE,
        chains=CLIPPING,
    message:
        "Metrics of the clipping study on {wildcards.model}"
    shell:
        "python -m dpmcmc clipping-table --spec {params.spec:q} --reference {input.reference:q}"
        " --chains {params.chains:q} --output {output.chains:q} > {log:q} 2>&1"
