# Iterations that epsilon and delta allow, or what given iterations cost; no data touched.


rule budget:
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
        JOBS["budget"].command


rule certification:
    input:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/{{run}}.json",
    output:
        certified=f"{RESULTS}/certified/{{model}}/{{algorithm}}/{{run}}.csv",
    log:
        f"{RESULTS}/logs/certification/{{model}}/{{algorithm}}/{{run}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(10),
    params:
        **job("certification"),
        run="{run}",
    message:
        "Cost by its stand-in of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        JOBS["certification"].command


rule accounting_curve:
    output:
        curve=f"{RESULTS}/accounting/{{algorithm}}/{{accountant}}.csv",
    log:
        f"{RESULTS}/logs/accounting_curve/{{algorithm}}/{{accountant}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(60),
    params:
        **job("accounting_curve"),
    message:
        "Iterations of {wildcards.algorithm} against epsilon by accountant {wildcards.accountant}"
    shell:
        JOBS["accounting_curve"].command


rule precompute:
    output:
        precomputed=f"{RESULTS}/precomputed/{{precomputed}}.json",
    log:
        f"{RESULTS}/logs/precompute/{{precomputed}}.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("precompute"),
    message:
        "Compute once for all chains: {wildcards.precomputed}"
    shell:
        JOBS["precompute"].command
