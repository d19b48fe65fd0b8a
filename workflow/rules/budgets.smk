# Iterations that epsilon and delta allow, or what given iterations cost; no data touched.


rule compute_budget:
    output:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/{{run}}.json",
    log:
        f"{RESULTS}/logs/budget/{{model}}/{{algorithm}}/{{run}}.log",
    conda:
        CONDA
    resources:
        mem_mb=table_memory,
        runtime=short_runtime,
    params:
        spec=budget_settings,
        source=budget_source,
    message:
        "Budget of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        "python -m dpmcmc budget --spec {params.spec:q} --output {output.budget:q} > {log:q} 2>&1"


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
        mem_mb=table_memory,
        runtime=short_runtime,
    params:
        spec=certification_settings,
        source=certification_source,
    message:
        "Cost by its stand-in of {wildcards.algorithm} on {wildcards.model} by {wildcards.run}"
    shell:
        "python -m dpmcmc certification --spec {params.spec:q} --budget {input.budget:q}"
        " --output {output.certified:q} > {log:q} 2>&1"


rule compute_accounting_curve:
    output:
        curve=f"{RESULTS}/accounting/{{algorithm}}/{{accountant}}.csv",
    log:
        f"{RESULTS}/logs/accounting/{{algorithm}}/{{accountant}}.log",
    conda:
        CONDA
    resources:
        mem_mb=table_memory,
        runtime=table_runtime,
    params:
        spec=accounting_curve_settings,
        source=curve_source,
    message:
        "Iterations of {wildcards.algorithm} against epsilon by accountant {wildcards.accountant}"
    shell:
        "python -m dpmcmc accounting-curve --spec {params.spec:q} --output {output.curve:q}"
        " > {log:q} 2>&1"


rule compute_needed:
    output:
        needed=f"{RESULTS}/needed/{{needed}}.json",
    log:
        f"{RESULTS}/logs/needed/{{needed}}.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        spec=needed_settings,
        source=needed_source,
    message:
        "Compute what samplers need: {wildcards.needed}"
    shell:
        "python -m dpmcmc needed --spec {params.spec:q} --output {output.needed:q} > {log:q} 2>&1"
