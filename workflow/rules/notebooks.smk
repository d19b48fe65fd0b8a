# Notebooks: executed by papermill, rendered as pages, drawing the figures.

for name, notebook in study.notebooks().items():

    rule:
        name:
            f"render_{name.replace('-', '_')}"
        input:
            notebook=ROOT / f"notebooks/{name}.ipynb",
            files=list(notebook_inputs(notebook)),
        output:
            notebook=f"{RESULTS}/notebooks/{name}.ipynb",
            html=f"{RESULTS}/notebooks/{name}.html",
            figures=list(figure_files(notebook)),
        log:
            f"{RESULTS}/logs/notebooks/{name}.log",
        conda:
            CONDA
        resources:
            mem_mb=notebook_memory,
            runtime=short_runtime,
        params:
            spec=as_json(notebook.parameters | {"results": RESULTS}),
            failed=f"{RESULTS}/logs/notebooks/{name}.failed.ipynb",
            source=NOTEBOOK_SOURCE,
        message:
            f"Execute and render the notebook {name}"
        shell:
            "python -m dpmcmc notebook --spec {params.spec:q} --notebook {input.notebook:q}"
            " --output {output.notebook:q} --html {output.html:q} --failed {params.failed:q}"
            " > {log:q} 2>&1"
