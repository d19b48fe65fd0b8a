# Metrics of every chain, and the tables of the study.

TABLE_NAMES = ["chains", "timings", "baselines", "budgets", "models", "summary"]
TABLES = expand(f"{RESULTS}/tables/{{table}}.csv", table=TABLE_NAMES)
PARTS = f"{RESULTS}/tables/models"


def chain_table_settings(wildcards):
    return as_json(study.chain_table(wildcards.model))


def baseline_table_settings(wildcards):
    return as_json(study.metrics(wildcards.model))


def chains_of_model(wildcards):
    return chain_files(wildcards.model)


rule tabulate_chains:
    input:
        reference=f"{RESULTS}/reference/{{model}}.npz",
        chains=chains_of_model,
    output:
        chains=f"{PARTS}/{{model}}/chains.csv",
        timings=f"{PARTS}/{{model}}/timings.csv",
    log:
        f"{RESULTS}/logs/chain-table/{{model}}.log",
    params:
        spec=chain_table_settings,
        source=METRICS_SOURCE,
        chains=f"{RESULTS}/chains/{{model}}",
    resources:
        mem_mb=1000,
        runtime=60,
    conda:
        CONDA
    message:
        "Metrics of all chains of {wildcards.model}"
    shell:
        "python -m dpmcmc chain-table --spec {params.spec:q} --reference {input.reference:q}"
        " --chains {params.chains:q} --output {output.chains:q} --timings {output.timings:q}"
        " > {log:q} 2>&1"


rule tabulate_baselines:
    input:
        reference=f"{RESULTS}/reference/{{model}}.npz",
    output:
        f"{PARTS}/{{model}}/baselines.csv",
    log:
        f"{RESULTS}/logs/baseline-table/{{model}}.log",
    params:
        spec=baseline_table_settings,
        source=METRICS_SOURCE,
    resources:
        mem_mb=500,
        runtime=10,
    conda:
        CONDA
    message:
        "Metrics of the baseline samples of {wildcards.model}"
    shell:
        "python -m dpmcmc baseline-table --spec {params.spec:q} --reference {input.reference:q}"
        " --output {output:q} > {log:q} 2>&1"


rule tabulate_study:
    input:
        chains=expand(f"{PARTS}/{{model}}/chains.csv", model=study.model_ids),
        timings=expand(f"{PARTS}/{{model}}/timings.csv", model=study.model_ids),
        baselines=expand(f"{PARTS}/{{model}}/baselines.csv", model=study.model_ids),
        budgets=[
            f"{RESULTS}/budgets/{cell.model}/{cell.algorithm}/epsilon-{cell.epsilon}.json"
            for cell in study.cells
        ],
    output:
        TABLES,
    log:
        f"{RESULTS}/logs/study-tables.log",
    params:
        spec=as_json({"models": [[model, study.models[model]] for model in study.model_ids]}),
        source=TABLES_SOURCE,
        directory=f"{RESULTS}/tables",
    resources:
        mem_mb=500,
        runtime=10,
    conda:
        CONDA
    message:
        "Tables of the study"
    shell:
        "python -m dpmcmc study-tables --spec {params.spec:q} --chains {input.chains:q}"
        " --timings {input.timings:q} --baselines {input.baselines:q} --budgets {input.budgets:q}"
        " --output {params.directory:q} > {log:q} 2>&1"
