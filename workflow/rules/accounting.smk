# Iterations that epsilon and delta allow; no data touched.


rule compute_budget:
    output:
        budget=f"{RESULTS}/budgets/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.json",
    log:
        f"{RESULTS}/logs/budget/{{model}}/{{algorithm}}/epsilon-{{epsilon}}.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        spec=budget_settings,
        source=ACCOUNTING_SOURCE,
    message:
        "Budget of {wildcards.algorithm} on {wildcards.model} at epsilon {wildcards.epsilon}"
    shell:
        "python -m dpmcmc budget --spec {params.spec:q} --output {output.budget:q} > {log:q} 2>&1"
