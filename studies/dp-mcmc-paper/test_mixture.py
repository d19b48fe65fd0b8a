"""The page on the mixture: which samples are compared, and verdicts on made-up chains."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mixture
from dpmcmc_studies.analysis.intervals import Estimate
from dpmcmc_studies.study.description import AlgorithmDescription
from mixture import Clipping, Exact, Mean, Mixture, claims, clip_verdict, share_verdict

SCATTER = np.linspace(-1, 1, 12)
CELLS = {  # MMD, variance and share of the second mode, by algorithm and iterations
    ("private", 100): (0.11, 0.9, 0.30),
    ("plain", 1000): (0.11, 1.0, 0.40),
    ("plain", 100): (0.10, 1.0, 0.40),
    ("clipped", 1000): (0.15, 0.6, 0.40),
    ("certified", 1000): (0.30, 0.5, 0.40),
}
LABELS = {name: {"variant_of": ""} for name in ("private", "plain", "clipped")}
LABELS |= {"certified": {"variant_of": "private"}, "elsewhere": {"variant_of": ""}}


class Free:
    """A sampler without privacy."""

    is_private = False


class Priced:
    """A private sampler."""

    is_private = True


@pytest.fixture
def page(monkeypatch):
    rows = [
        {"model": "m", "algorithm": algorithm, "iterations": iterations, "sample": 11 - seed}
        | {"mmd": mmd + 1e-3 * shift, "sd_ratio": 0.9, "clip_fraction": 0.02}
        for (algorithm, iterations), (mmd, *_) in CELLS.items()
        for seed, shift in enumerate(SCATTER)
    ]
    chains = pd.DataFrame(rows).assign(epsilon=np.nan, proposal_scale=np.nan)
    swept = chains.assign(proposal_scale=0.3)  # not shown
    elsewhere = chains.assign(algorithm="elsewhere")
    tables = {
        "chains": pd.concat([chains, swept, elsewhere], ignore_index=True),
        "starts": pd.DataFrame({"model": ["m"], "mmd": [0.8]}),
        "mixing": pd.DataFrame(
            {"model": "m", "algorithm": ["certified"] * 2, "iterations": 1000, "r_hat": [1.0, 1.02]}
        ),
    }

    def kept(name, compute, part):
        algorithm, run = part.split("/")
        _, variance, share = CELLS[algorithm, int(run)]
        return {"variances": variance + 0.01 * SCATTER, "second_shares": share + 0.01 * SCATTER}

    study = SimpleNamespace(
        seed=1,
        table=tables.get,
        kept=kept,
        algorithms={
            name: AlgorithmDescription(accountant="rdp", **of) for name, of in LABELS.items()
        },
        algorithm_label=str.title,
        sampler=lambda algorithm, model: Priced() if algorithm == "private" else Free(),
        delta_times_n=0.1,
    )
    monkeypatch.setattr(mixture, "run_of", lambda study, row: str(row["iterations"]))
    page = Mixture(study, "m", "private", "plain", "clipped", ["certified"], 0.1, {}, 0.05)
    vars(page).update(reference=None, target=SimpleNamespace(num_rows=1000))
    monkeypatch.setattr(Mixture, "cost", lambda page, name, count, accountant: count / 1000)
    return page


@pytest.fixture
def exact():
    draws = np.random.default_rng(1).standard_normal((4000, 2))
    return Exact(draws, Estimate(0.04, 0.03, 0.05), second_share=0.4)


def key(sample):
    return sample.algorithm, sample.iterations


def test_samples_are_those_of_the_paper_s_proposal_in_the_order_of_seeds(page):
    assert [*map(key, page.samples)] == [*CELLS]
    assert all((one.cell["sample"] == np.arange(12)).all() for one in page.samples)


def test_a_sample_without_privacy_is_held_against_one_that_is_no_longer(page):
    assert key(page.ours) == ("private", 100) and [*map(key, page.longer)] == [("certified", 1000)]
    rivals = {key(sample): key(page.rival(sample)) for sample in page.without}
    assert [*rivals] == [("plain", 100), ("plain", 1000)]  # as long as ours comes first
    assert rivals == {("plain", 100): ("private", 100), ("plain", 1000): ("certified", 1000)}
    gaps = [gap.value for gap in page.gaps().values()]
    assert gaps == pytest.approx([0.01, 0.19])


def test_claims_follow_the_chains(page, exact):
    rows = claims(page, exact)
    assert [row["verdict"] for row in rows] == [
        "confirmed",  # 0.01 apart, where half the MMD of exact samples is 0.02
        "not confirmed",  # 0.19 apart
        "not confirmed",  # a share of 0.3
        "confirmed",
        "confirmed",  # the clip takes 0.4 of 0.5
    ]
    assert rows[4]["measured"].startswith("-0.400 ± 0.000 by the clip alone, -0.500")


def test_the_answer_says_what_is_usable(page, exact):
    (line,) = mixture.about_longer(page, exact)
    assert "7.5 times that of exact samples; split R-hat is 1.020" in line
    assert "not usable" in line
    (line,) = mixture.about_longer(page, exact._replace(mmd=Estimate(0.2, 0.1, 0.3)))
    assert "**usable**" in line
    assert "chains that never move 0.800" in mixture.about_gaps(page, exact)


def test_the_table_has_exact_samples_first_and_costs_of_private_ones(page, exact):
    first, *rows = page.table(exact, 20)
    assert first["chains"] == 20 and first["second mode"] == "0.400"
    assert first["variance"] == f"{exact.draws.var(axis=0, ddof=1).sum():.3f}"
    assert rows[0]["ε as published"] == rows[0]["ε certified"] == "0.1000"
    assert "ε certified" not in rows[1] and [*first] == [*rows[0]]


def test_without_chains_of_one_length_clipping_is_not_measured(page, exact, monkeypatch):
    assert [*map(key, Clipping.measured(page))] == [
        ("plain", 1000),
        ("clipped", 1000),
        ("certified", 1000),
    ]
    monkeypatch.setitem(page.__dict__, "samples", page.samples[:-1])
    assert Clipping.measured(page) is None and mixture.about_clip_claim(None) == ""


@pytest.mark.parametrize(
    ("by_privacy", "beyond_half", "verdict"),
    [
        ((-0.5, 0.1), (0.2, 0.1), "confirmed"),
        ((-0.5, 0.1), (-0.2, 0.1), "not confirmed"),
        ((-0.5, 0.1), (0.05, 0.1), "undecided"),
        ((-0.05, 0.1), (0.2, 0.1), "undecided"),
    ],
)
def test_the_clip_is_judged_by_what_it_takes_beyond_half(by_privacy, beyond_half, verdict):
    assert clip_verdict(Mean(*by_privacy), Mean(*beyond_half)) == verdict


@pytest.mark.parametrize(
    ("share", "verdict"),
    [((0.42, 0.03), "confirmed"), ((0.42, 0.06), "undecided"), ((0.5, 0.06), "not confirmed")],
)
def test_a_share_is_right_if_its_interval_is_short_and_has_it(share, verdict):
    assert share_verdict(Mean(*share), 0.4) == verdict


def test_an_interval_of_a_mean_is_of_t():
    mean = Mean.of(np.array([1.0, 2.0, 3.0]))
    assert mean.value == 2 and mean.reach == pytest.approx(4.302653 / 3**0.5)
    assert Mean.of(np.array([1.0])).reach == np.inf


def test_modes_are_weighed_by_the_prior():
    model = SimpleNamespace(
        mirrored=lambda draw: -draw, log_prior_ratio=lambda draw, other: np.log(3)
    )
    assert mixture.second_probability(model, np.array([0, 1.0])) == pytest.approx(0.75)
    assert mixture.second_probability(model, np.array([0, -1.0])) == pytest.approx(0.25)


def test_modes_are_a_ridge_where_the_density_between_them_hardly_falls():
    places = [SimpleNamespace(position=np.array(place)) for place in ((0.0, 1.0), (0.0, -1.0))]
    for depth, end in ((0.1, "they are nearly one ridge"), (1.0, "37% of its peak.")):
        target = SimpleNamespace(
            log_density_ratio=lambda old, new, depth=depth: -depth * (1 - new[1] ** 2)
        )
        assert end in mixture.about_modes(target, places)
    assert "**One mode** was found, at (0.00, 1.00)" in mixture.about_modes(target, places[:1])
