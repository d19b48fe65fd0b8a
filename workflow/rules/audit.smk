# Lower bounds of the epsilon that the samplers' own code costs: one job for each case.


rule audit_case:
    output:
        bounds=f"{RESULTS}/audit/{{case}}.csv",
    log:
        f"{RESULTS}/logs/audit/{{case}}.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(1000),
        runtime=minutes(lambda wildcards: 10 + study.config["audit"]["runs"] // 10_000),
    params:
        **job("audit-case"),
    message:
        "Audit of {wildcards.case}"
    shell:
        "python -m dpmcmc audit-case --spec @/dev/stdin --output {output.bounds:q} <<< {params.spec:q} > {log:q} 2>&1"


rule tabulate_audit:
    input:
        bounds=expand(f"{RESULTS}/audit/{{case}}.csv", case=study.audited_cases),
    output:
        table=f"{RESULTS}/tables/audit.csv",
    log:
        f"{RESULTS}/logs/audit-table.log",
    conda:
        CONDA
    resources:
        mem_mb=megabytes(500),
        runtime=minutes(10),
    params:
        **job("joined-table"),
    message:
        "Table of the audit"
    shell:
        "printf '%s\\n' {input.bounds:q} | python -m dpmcmc joined-table --parts @/dev/stdin"
        " --output {output.table:q} > {log:q} 2>&1"
