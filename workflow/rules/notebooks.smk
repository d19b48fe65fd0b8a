# Notebooks, executed by papermill, rendered as pages, drawing the figures; and the index of all.

for name, notebook in study.notebooks().items():

    rule:
        name:
            f"render_{name.replace('-', '_')}"
        input:
            notebook=ROOT / f"notebooks/{name}.ipynb",
            files=list(notebook_inputs(notebook)),
        output:
            notebook=f"{RESULTS}/notebooks/{name}.ipynb",
            html=reported_page(name),
            figures=list(reported_figures(notebook)),
        log:
            f"{RESULTS}/logs/notebooks/{name}.log",
        conda:
            CONDA
        resources:
            mem_mb=notebook_memory,
            runtime=short_runtime,
        params:
            spec=notebook_settings(notebook),
            failed=f"{RESULTS}/logs/notebooks/{name}.failed.ipynb",
            source=NOTEBOOK_SOURCE,
        message:
            f"Execute and render the notebook {name}"
        shell:
            "python -m dpmcmc notebook --spec {params.spec:q} --notebook {input.notebook:q}"
            " --output {output.notebook:q} --html {output.html:q} --failed {params.failed:q}"
            " > {log:q} 2>&1"


rule record_provenance:
    output:
        provenance=f"{RESULTS}/provenance.json",
    log:
        f"{RESULTS}/logs/provenance.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        spec=provenance_settings(),
    message:
        "Record what makes the study"
    shell:
        "python -m dpmcmc provenance --spec {params.spec:q} --output {output.provenance:q}"
        " > {log:q} 2>&1"


rule build_index:
    input:
        pages_and_figures,
        tables=table_files(study.all_tables),
        provenance=f"{RESULTS}/provenance.json",
    output:
        page=f"{RESULTS}/index.html",
        readme=f"{RESULTS}/README.md",
    log:
        f"{RESULTS}/logs/index.log",
    conda:
        CONDA
    resources:
        mem_mb=small_memory,
        runtime=short_runtime,
    params:
        source=NOTEBOOK_SOURCE,
        results=subpath(output[0], parent=True),
        sources=ROOT / "notebooks",
    message:
        "Index of all results"
    shell:
        "python -m dpmcmc index --results {params.results:q}"
        " --sources {params.sources:q} --output {output.page:q} --readme {output.readme:q}"
        " > {log:q} 2>&1"
