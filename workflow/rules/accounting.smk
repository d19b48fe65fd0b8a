# Iterations that epsilon and delta allow; no data touched.


rule compute_budget:
    output:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
    log:
        f"{RESULTS}/logs/budget/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.log",
    conda:
        CONDA
    resources:
        mem_mb=table_memory,
        runtime=short_runtime,
    params:
        spec=budget_settings,
        source=ACCOUNTING_SOURCE,
    message:
        "Budget of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
    shell:
        "python -m dpmcmc budget --spec {params.spec:q} --output {output.budget:q} > {log:q} 2>&1"


rule certify_budget:
    input:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
    output:
        certified=f"{RESULTS}/certified/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.csv",
    log:
        f"{RESULTS}/logs/certified/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.log",
    conda:
        CONDA
    resources:
        mem_mb=table_memory,
        runtime=short_runtime,
    params:
        spec=certification_settings,
        source=ACCOUNTING_SOURCE,
    message:
        "Certified cost of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
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
        source=ACCOUNTING_SOURCE,
    message:
        "Iterations of {wildcards.algorithm} against epsilon by accountant {wildcards.accountant}"
    shell:
        "python -m dpmcmc accounting-curve --spec {params.spec:q} --output {output.curve:q}"
        " > {log:q} 2>&1"


rule fit_correction:
    output:
        correction=f"{RESULTS}/barker-correction.json",
    log:
        f"{RESULTS}/logs/barker-correction.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        source=CORRECTION_SOURCE,
    message:
        "Fit the correction of Barker's acceptance test"
    shell:
        "python -m dpmcmc correction --output {output.correction:q} > {log:q} 2>&1"
