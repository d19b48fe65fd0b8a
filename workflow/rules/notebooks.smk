# Notebooks: executed by papermill, rendered as pages, drawing the figures.

FIGURES = f"{RESULTS}/figures"


def running(models):
    """Those of the models that run."""
    return [model for model in models if model in study.model_ids]


def of_kind(kind):
    return [model for model in study.model_ids if study.models[model]["kind"] == kind]


def two_dimensional_models():
    return [model for model in study.model_ids if dimension(study.models[model]) == 2]


def dataset_files(models):
    """Data set and reference sample of models."""
    return expand(f"{RESULTS}/data/{{model}}.npy", model=models) + expand(
        f"{RESULTS}/reference/{{model}}.npz", model=models
    )


def models_notebook():
    names = two_dimensional_models()
    return dict(
        figures=["figure-5.1"] if names else [],
        files=[f"{RESULTS}/tables/models.csv", *dataset_files(names)],
        parameters={
            "models": [[model, study.models[model]] for model in names],
            "study_seed": config["seed"],
            "seeds": config["seeds"],
        },
    )


def trajectory_notebook():
    figure = config["figures"]["trajectory"]
    model = figure["model"]
    settings = study.algorithms["dp-hmc"]["settings"].get(model)
    if settings is None or not running([model]):
        return None
    return dict(
        figures=["figure-4.1"],
        files=dataset_files([model]),
        parameters={
            "model": model,
            "model_settings": study.models[model],
            "settings": settings | {"num_integration_steps": figure["num_integration_steps"]},
            "study_seed": config["seed"],
        },
    )


def comparison_notebook():
    bananas = running(config["figures"]["bananas"])
    hard_models = running(config["figures"]["hard_models"])
    figures = ["figure-6.3", "figure-6.5"] if bananas else []
    figures += ["figure-6.4", "figure-6.6"] if hard_models else []
    if not figures:
        return None
    names = ["chains", "baselines", "summary"]
    return dict(
        figures=figures,
        files=expand(f"{RESULTS}/tables/{{name}}.csv", name=names),
        parameters={"bananas": bananas, "hard_models": hard_models},
    )


def circle_notebook():
    models = of_kind("circle")
    if not models:
        return None
    return dict(
        figures=["figure-6.7", "figure-circle-mmd"],
        files=expand(f"{RESULTS}/tables/{{name}}.csv", name=["chains", "baselines"]),
        parameters={"models": models},
    )


def gradient_clipping_notebook():
    models = list(dict.fromkeys(cell.model for cell in study.cells if cell.algorithm == "dp-hmc"))
    if not models:
        return None
    return dict(
        figures=["figure-6.8"],
        files=[f"{RESULTS}/tables/chains.csv"],
        parameters={"models": models},
    )


# What each notebook draws, reads and is told; one that the study has nothing for is left out.
NOTEBOOKS = {
    name: notebook
    for name, notebook in {
        "models": models_notebook(),
        "trajectory": trajectory_notebook(),
        "comparison": comparison_notebook(),
        "circle": circle_notebook(),
        "gradient-clipping": gradient_clipping_notebook(),
    }.items()
    if notebook
}


def notebook_outputs():
    """Every page and figure of the study."""
    pages = [f"{RESULTS}/notebooks/{name}.html" for name in NOTEBOOKS]
    figures = [
        f"{FIGURES}/{figure}.pdf" for notebook in NOTEBOOKS.values() for figure in notebook["figures"]
    ]
    return pages + figures


for name, notebook in NOTEBOOKS.items():

    rule:
        name:
            f"render_{name.replace('-', '_')}"
        input:
            notebook=str(ROOT / f"notebooks/{name}.ipynb"),
            files=notebook["files"],
        output:
            notebook=f"{RESULTS}/notebooks/{name}.ipynb",
            html=f"{RESULTS}/notebooks/{name}.html",
            figures=[
                f"{FIGURES}/{figure}.{suffix}"
                for figure in notebook["figures"]
                for suffix in ("pdf", "png")
            ],
        log:
            f"{RESULTS}/logs/notebooks/{name}.log",
        params:
            spec=as_json(notebook["parameters"] | {"results": RESULTS}),
            failed=f"{RESULTS}/logs/notebooks/{name}.failed.ipynb",
            source=NOTEBOOK_SOURCE,
        resources:
            mem_mb=1500,
            runtime=15,
        conda:
            CONDA
        message:
            f"Execute and render the notebook {name}"
        shell:
            "python -m dpmcmc notebook --spec {params.spec:q} --notebook {input.notebook:q}"
            " --output {output.notebook:q} --html {output.html:q} --failed {params.failed:q}"
            " > {log:q} 2>&1"
