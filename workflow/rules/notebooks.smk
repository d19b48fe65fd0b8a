# Notebooks, executed by papermill, drawing the figures; and the site of all, made by Sphinx.
# What a notebook takes and draws stands in its own metadata (dpmcmc_studies/study/notebooks.py).


for name, notebook in study.notebooks.items():

    rule:
        name:
            rule_name(name)
        input:
            notebook=os.path.relpath(notebook.path),
            files=list(notebook_inputs(name, notebook)),
        output:
            executed=f"{RESULTS}/notebooks/{name}.ipynb",
            page=f"{RESULTS}/pages/{name}.md",
            figures=list(figure_files(notebook)),
        log:
            f"{RESULTS}/logs/notebook/{name}.log",
        conda:
            CONDA
        resources:
            mem_mb=megabytes(1500),
            runtime=minutes(10),
        params:
            **job("notebook", SimpleNamespace(notebook=name)),
            failed=f"{RESULTS}/logs/notebook/{name}.failed.ipynb",
            committed=reuse.file(f"kept/{name}") if notebook.kept else "",
        message:
            f"Execute the notebook {name}"
        shell:
            JOBS["notebook"].command


rule describe_study:
    output:
        study=f"{RESULTS}/study.json",
    log:
        f"{RESULTS}/logs/describe_study.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("describe_study"),
    message:
        "Describe the study to its pages"
    shell:
        JOBS["describe_study"].command


rule provenance:
    output:
        versions=f"{RESULTS}/provenance.json",
        parts=f"{RESULTS}/parts.csv",
    log:
        f"{RESULTS}/logs/provenance.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("provenance"),
        data=[entry.data for entry in study.models.values()],
        fingerprints=lambda wildcards: text_of(
            reuse.in_effect([*reuse.fingerprints.names, *committed_files(study)]), is_ordered=True
        ),
    message:
        "Record what makes the study"
    shell:
        JOBS["provenance"].command


rule site:
    input:
        pages_and_figures,
        tables=table_files(study.all_tables),
        provenance=f"{RESULTS}/provenance.json",
        study=f"{RESULTS}/study.json",
    output:
        page=f"{RESULTS}/index.html",
        readme=f"{RESULTS}/README.md",
        site=directory(f"{RESULTS}/site"),
    log:
        f"{RESULTS}/logs/site.log",
    conda:
        CONDA
    resources:
        **SMALL,
    params:
        **job("site"),
        results=subpath(output[0], parent=True),
    message:
        "Site of all pages"
    shell:
        JOBS["site"].command
