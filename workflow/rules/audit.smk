# Lower bounds of the epsilon that the samplers' own code costs: one job for each case.


rule audit_case:
    output:
        bounds=f"{RESULTS}/audit/{{case}}.csv",
    log:
        f"{RESULTS}/logs/audit_case/{{case}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(lambda wildcards: 10 + study.config.audit.runs // 10_000),
    params:
        **job("audit_case"),
    message:
        "Audit of {wildcards.case}"
    shell:
        JOBS["audit_case"].command
