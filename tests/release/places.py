"""A folder with data of one's own, a study of it and a ledger."""

import shutil
from pathlib import Path

import numpy as np
from leaking import MARKER

ROWS = 60
STUDY = """
study: mine
models:
  mine: {{kind: leaking.py:{model}, data: data.csv}}
algorithms:
  newton:
    sampler: NoisyNewton
    accountant: gaussian
    settings: {{mine: {{gradient_clip_bound: 2, information_ratio: 0.2, shares: [0.1, 0.3, 0.6]}}}}
  penalty:
    sampler: DPPenalty
    move: GaussianWalk
    accountant: gaussian
    settings: {{mine: {{noise_scale: 2, proposal_scale: 0.3, clip_bound: 1}}}}
  sample:
    sampler: PosteriorSample
    accountant: gaussian
    settings: {{mine: {{ridge: 1}}}}
  own:
    sampler: leaking.py:AddsNoNoise
    accountant: gaussian
"""

# What the ledger notes of a release that was not run, of a file with ten rows.
ENTRY = {"mu_squared": 0.1, "delta0": 0.0, "slack": 1e-7, "epsilon": 1.0, "at_delta": 1e-5}
ENTRY |= {"algorithm": "a", "rows": 10}
TEN = "x\n" + "1\n" * 10


def with_ledger(folder):
    """A file of ten rows with a ledger."""
    from dpmcmc.release import owner

    path = folder / "data.csv"
    path.write_text(TEN)
    owner.new(path, 2.0, 1e-5, "full-data", 10)
    return path


class Place:
    """A folder in which a release can be made."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copy(Path(__file__).with_name("leaking.py"), folder)
        self.write("Plain", self.lines())

    def lines(self, rows=ROWS, seed=1):
        """Lines of a file of data; the marker is in every row."""
        x = np.random.default_rng(seed).normal(0.5, 1, rows)
        return ["x,secret", *(f"{value:.6f},{MARKER!r}" for value in x)]

    def write(self, model, lines):
        """A study of a model, and data."""
        (self.folder / "study.yaml").write_text(STUDY.format(model=model))
        self.write_data(lines)

    def write_data(self, lines):
        """Data alone."""
        text = lines if isinstance(lines, bytes) else "\n".join([*lines, ""]).encode()
        (self.folder / "data.csv").write_bytes(text)

    def run(self, name, *arguments):
        """Exit status of a command; a release asks for no check, which takes seconds."""
        from dpmcmc.release.command import main

        more = ["--unchecked"] * (name == "release")
        return main(name, [str(argument) for argument in arguments] + more)

    def ledger(self, epsilon=10, rows=ROWS, *more):
        """Make the ledger."""
        (self.folder / "data.csv.ledger").unlink(missing_ok=True)
        budget = "--epsilon", epsilon, "--delta", min(1e-3, 0.9 / rows), "--rows", rows
        assert self.run("ledger", "new", "data.csv", *budget, *more) == 0

    def release(self, algorithm="newton", epsilon=1, output="out", *more):
        """Exit status of a release."""
        of = "study.yaml", "--model", "mine", "--algorithm", algorithm
        return self.run("release", *of, "--epsilon", epsilon, "--output", output, *more)
