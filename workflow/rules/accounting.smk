# Iterations that epsilon and delta allow; no data touched.


rule compute_budget:
    output:
        f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
    log:
        f"{RESULTS}/logs/budget/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.log",
    conda:
        CONDA
    resources:
        mem_mb=500,
        runtime=10,
    params:
        spec=budget_settings,
        source=ACCOUNTING_SOURCE,
    message:
        "Budget of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
    shell:
        "python -m dpmcmc budget --spec {params.spec:q} --output {output:q} > {log:q} 2>&1"
