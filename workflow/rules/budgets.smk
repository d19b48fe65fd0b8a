# Iterations that epsilon and delta allow, or what given iterations cost; no data touched.


rule compute_budget:
    output:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/{{run}}.json",
    log:
        f"{RESULTS}/logs/budget/{{model}}/{{algorithm}}/{{run}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(10),
    params:
        **job("budget"),
    message:
        "Budget of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        JOBS["budget"].command("budget")


rule certify_budget:
    input:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/{{run}}.json",
    output:
        certified=f"{RESULTS}/certified/{{model}}/{{algorithm}}/{{run}}.csv",
    log:
        f"{RESULTS}/logs/certified/{{model}}/{{algorithm}}/{{run}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(10),
    params:
        **job("certification", part="certified/{model}/{algorithm}/{run}"),
    message:
        "Cost by its stand-in of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        JOBS["certification"].command("certification")


rule compute_accounting_curve:
    output:
        curve=f"{RESULTS}/accounting/{{algorithm}}/{{accountant}}.csv",
    log:
        f"{RESULTS}/logs/accounting/{{algorithm}}/{{accountant}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        **job("accounting-curve", part="accounting/{algorithm}/{accountant}"),
    message:
        "Iterations of {wildcards.algorithm} against epsilon by accountant {wildcards.accountant}"
    shell:
        JOBS["accounting-curve"].command("accounting-curve")


rule precompute:
    output:
        precomputed=f"{RESULTS}/precomputed/{{precomputed}}.json",
    log:
        f"{RESULTS}/logs/precomputed/{{precomputed}}.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("precomputed"),
    message:
        "Compute once for all chains: {wildcards.precomputed}"
    shell:
        JOBS["precomputed"].command("precomputed")
