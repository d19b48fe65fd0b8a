"""Parts of the results that a change makes old, by their fingerprints."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

from conftest import ROOT
from msgspec import to_builtins

from dpmcmc.accounting.accountants import ACCOUNTANTS
from dpmcmc_studies.jobs.fingerprints import Fingerprints
from dpmcmc_studies.jobs.table import JOBS
from dpmcmc_studies.study.loading import load_study

BANANA, TEMPERED = "flat-banana-2d", "tempered-banana-2d"
ALGORITHMS = ["dp-penalty", "dp-barker"]
RUNS = [{"models": [BANANA, TEMPERED], "algorithms": ALGORITHMS, "epsilons": [2, 4]}]


def tiny(**changes):
    """The tiny study at two epsilons, with changes."""
    return load_study(ROOT, [ROOT / "studies/tiny/study.yaml"], {"runs": RUNS} | changes)


def fingerprints(study):
    """Fingerprints of all parts by name."""
    found = Fingerprints(study)
    references = [f"reference/{model}" for model in study.model_ids]
    return {part: found[part] for part in [*references, *found.names]}


def parts_that_differ(one, other):
    before, after = fingerprints(one), fingerprints(other)
    return {part for part in before.keys() | after.keys() if before.get(part) != after.get(part)}


def specs(study):
    """Settings of every job of chains and of what comes before them."""
    of_models = [SimpleNamespace(model=name) for name in study.model_ids]
    cells = [
        SimpleNamespace(**cell._asdict(), seed=s)
        for cell in study.cells
        for s in study.seeds_of(cell)
    ]
    jobs = [(name, of) for name in ("dataset", "reference", "baselines") for of in of_models]
    jobs += [(name, of) for name in ("budget", "chain") for of in cells]
    return {(name, *vars(of).values()): JOBS[name].settings(study, of) for name, of in jobs}


def test_the_same_settings_in_other_words_change_nothing():
    settings = tiny().algorithms["dp-penalty"].settings[BANANA]
    same = {"dp-penalty": {"settings": {BANANA: dict(reversed(settings.items()))}}}
    runs = [dict(to_builtins(tiny().config.runs[0]), epsilons=[2.0, 4.00])]
    assert specs(tiny(algorithms=same, runs=runs)) == specs(tiny())
    assert fingerprints(tiny(algorithms=same, runs=runs)) == fingerprints(tiny())


def test_prose_labels_and_the_search_concern_no_job():
    changes = {
        "remarks": ["A sentence."],
        "models": {BANANA: {"label": "Another name"}},
        "algorithms": {"dp-penalty": {"label": "Another", "about": "Other words."}},
        "tuning": {"trials": 3},
    }
    assert not parts_that_differ(tiny(), tiny(**changes))


def test_a_setting_concerns_the_chains_of_its_algorithm_on_its_model():
    change = {"dp-penalty": {"settings": {TEMPERED: {"clip_bound": 0.5}}}}
    changed = tiny(algorithms=change)
    cells = {
        f"{kind}/{TEMPERED}/dp-penalty/epsilon-{epsilon}"
        for kind in ("chains", "scores")
        for epsilon in (2, 4)
    }
    assert parts_that_differ(tiny(), changed) == cells
    elsewhere = {"dp-hmc": {"settings": {BANANA: {"step_size": 0.01}}}}  # it does not run here
    assert not parts_that_differ(tiny(), tiny(algorithms=elsewhere))


def test_a_setting_of_a_model_concerns_all_that_is_made_of_it():
    changed = tiny(models={BANANA: {"curvature": 3}})
    of_model = {part for part in fingerprints(tiny()) if BANANA in part}
    assert len(of_model) == 2 + 2 * 2 * 2 and parts_that_differ(tiny(), changed) == of_model


def test_new_seeds_epsilons_and_algorithms_add_jobs_and_change_none():
    (run,) = to_builtins(tiny().config.runs)
    more = dict(run, epsilons=[2, 4, 6], algorithms=[*run["algorithms"], "dp-hmc"])
    before, after = specs(tiny()), specs(tiny(runs=[more], seeds=4))
    assert before.items() < after.items()
    assert sum(name == "chain" for name, *_ in after) == 2 * 3 * 3 * 4


def test_chains_of_every_pair_of_jobs_differ():
    chains = [text for (name, *_), text in specs(tiny()).items() if name == "chain"]
    assert len(set(chains)) == len(chains)


def test_pages_depend_on_every_accountant():
    """A notebook prices by `dpmcmc.epsilon(..., name)`, which imports one by its name."""
    study = load_study(ROOT, [])
    of = SimpleNamespace(notebook=next(iter(study.notebooks)))
    assert set(ACCOUNTANTS.values()) <= set(JOBS["notebook"].modules(study, of))


CODE = "\nA_NEW_CONSTANT = 1\n"
EDITS = [  # file, what is put at its end, algorithms whose chains it concerns
    ("dpmcmc/samplers/dp_penalty.py", CODE, {"dp-penalty"}),
    ("dpmcmc/kernels/ratios.py", CODE, {"dp-penalty", "dp-barker"}),
    ("dpmcmc/accounting/barker_rdp.py", CODE, {"dp-barker"}),
    ("dpmcmc/models/circle.py", CODE, set()),
    ("dpmcmc_studies/jobs/chain_tables.py", CODE, {"dp-penalty", "dp-barker"}),
    ("dpmcmc_studies/analysis/tables.py", CODE, set()),  # of columns that follow from others
    ("dpmcmc/samplers/dp_penalty.py", "\n# A comment.\n\n", set()),
]
FOUND = """
import json, sys
from pathlib import Path
from dpmcmc_studies.jobs import table
from dpmcmc_studies.jobs.fingerprints import Fingerprints
from dpmcmc_studies.study import sources
from dpmcmc_studies.study.loading import load_study
def found():
    study = load_study(Path(), [Path("studies/tiny/study.yaml")])
    all = Fingerprints(study)
    return {part: all[part] for part in [*(f"reference/{m}" for m in study.model_ids), *all.names]}
results = [found()]
for file, text in json.load(sys.stdin):
    path = Path("src", file)
    before = path.read_text()
    path.write_text(before + text)
    table.digest_of.cache_clear()
    sources.imported_directly.cache_clear()
    results.append(found())
    path.write_text(before)
print(json.dumps(results))
"""


def test_a_changed_source_concerns_what_imports_it_and_prose_in_it_nothing(tmp_path):
    for part in ("src", "studies", "notebooks", "workflow"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for path in ROOT.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    output = subprocess.run(
        [sys.executable, "-c", FOUND],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        cwd=tmp_path,
        input=json.dumps([edit[:2] for edit in EDITS]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, *others = json.loads(output)
    for (file, text, algorithms), after in zip(EDITS, others, strict=True):
        changed = {part for part in before if before[part] != after[part]}
        chains = {part.split("/")[2] for part in changed if part.startswith("chains/")}
        assert chains == algorithms, file
        assert ("reference/flat-banana-2d" in changed) == file.startswith("dpmcmc/kernels")
        assert text == CODE or not changed
        if file == "dpmcmc_studies/jobs/chain_tables.py":  # a new column of the draws of chains
            assert {part.partition("/")[0] for part in changed} == {"chains"}
