"""The commands, as a person sees them."""

import json
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
import yaml
from conftest import chosen
from places import ROWS

from dpmcmc.accounting import gaussian
from dpmcmc.accounting.mechanisms import GaussianMechanism
from dpmcmc.files import JobError
from dpmcmc.release import code, command, ledger, statement, terminal
from dpmcmc.release.data_process import contents_of, work
from dpmcmc.release.launcher import Drawn, spec_of
from dpmcmc.release.plan import parameter_names, plan
from dpmcmc.release.reading import read_part

OF = ("--model", "mine", "--algorithm")


def text_of(capsys):
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_from_the_file_to_what_may_be_published(place, capsys):
    place.ledger(3)
    assert place.release("newton", 1, "results/out") == 0
    assert "written to results/out: chain.csv, chain.nc, statement.json, statement.txt" in text_of(
        capsys
    )
    output = place.folder / "results/out"
    facts = json.loads((output / "statement.json").read_text())
    assert facts["epsilon"] == 1.0 and facts["delta"] == 1e-3 and facts["rows"] == ROWS
    mu = facts["mu_squared"] ** 0.5
    assert gaussian.epsilon([(GaussianMechanism(mu), 1)], 1e-3) <= 1.0 - 9e-6
    assert facts["released"] == [{"mechanism": "GaussianMechanism", "mu": mu, "count": 1}]
    assert facts["ledger_head"] == ledger.read("data.csv").releases[0]["hash"]
    lines = (output / "chain.csv").read_text().splitlines()
    assert lines[0] == "chain,draw,theta_0" and len(lines) == 4001
    import arviz

    draws = arviz.from_netcdf(output / "chain.nc").posterior["theta"]
    assert draws.shape == (1, 4000, 1)
    assert not draws.attrs and float(draws[0, 5, 0]) == float(lines[6].split(",")[2])
    assert (output / "chain.nc").read_bytes().count(b"created_at") == 0
    page = (output / "statement.txt").read_text()
    assert "epsilon = 1 and delta = 0.001" in page and f"{ROWS} rows" in page
    assert place.run("ledger", "show", "data.csv") == 0
    assert "newton on 60 rows  published" in text_of(capsys)


def test_who_makes_a_ledger_beside_another_learns_that_they_share_no_budget(place, capsys):
    place.ledger()
    assert "beside it lie" not in text_of(capsys)
    (place.folder / "cleaned.csv").write_text("x,secret\n1,2\n3,4\n")
    budget = "--epsilon", 1, "--delta", 1e-3, "--rows", 2
    assert place.run("ledger", "new", "cleaned.csv", *budget) == 0
    assert (
        "beside it lie data.csv.ledger: data of the same people share a budget only within one "
        "ledger\n"
    ) in text_of(capsys)


def test_what_takes_a_while_is_announced(place, made_up, capsys):
    place.ledger()
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 0
    printed = capsys.readouterr().out
    assert (
        "\nChecking your own code, then the whole release on simulated data ...\nwritten to out"
    ) in printed
    assert place.release("newton", 1, "out", "--draws", 5) == 1  # is there already
    assert "Checking" not in capsys.readouterr().out


def test_all_of_a_budget_can_be_spent_by_one_release(place):
    place.ledger(3, ROWS, "--for", "full-data")
    assert place.release("newton", 3, "out", "--plan") == 0
    assert place.release("newton", 3.01, "out", "--plan") == 1


def test_chains_share_a_budget_and_say_how_long_they_are(place, capsys):
    place.ledger()
    more = "--start", "-0.5", "--chains", "2"
    assert place.release("penalty", 2, "out", *more) == 0
    facts = json.loads((place.folder / "out/statement.json").read_text())
    (released,) = facts["released"]
    assert released["count"] == 2 * facts["iterations"] > 10
    assert facts["start"] == [-0.5] and facts["chains"] == 2
    assert "2 chains of" in text_of(capsys)
    assert "a chain may not have mixed" in (place.folder / "out/statement.txt").read_text()


def refused(place, capsys, *arguments, name="release"):
    """Message of a command that is refused, for which nothing was spent."""
    assert place.run(name, *arguments) == 1
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert not list(place.folder.glob("*.partial"))
    return printed.err


def test_what_cannot_run_is_refused_in_a_line_before_anything_is_spent(place, capsys):
    place.ledger()
    before = (place.folder / "data.csv.ledger").read_bytes()
    capsys.readouterr()
    (place.folder / "there").mkdir()
    rest = "--epsilon", 1, "--output", "out"
    for arguments, expected in {
        ("newton", "--start", "prior"): "newton prepares its own start",
        ("penalty",): "--start: must be given: prior, or numbers",
        ("penalty", "--start", "preparation"): "penalty has no preparation; the key start",
        ("penalty", "--start", "1,2"): "or 1 numbers with commas between them, not 1,2",
        ("newton", "--chains", 2): "--chains: must be 1, because draws are free",
        ("rwmh",): "rwmh is not private",
        ("sample",): "sample cannot be released, as PosteriorSample adds no noise",
        ("none",): "unknown algorithm none; valid algorithms:",
        ("newton", "--epsilon", 50): "One release on all rows may spend epsilon 9.51224",
        ("newton", "--output", "there"): "there exists already",
        ("newton", "--rows", "1"): "Expected `int` >= 2",
    }.items():
        message = refused(place, capsys, "study.yaml", *OF, arguments[0], *rest, *arguments[1:])
        assert expected.replace("`", "") in message.replace("`", ""), message
    assert "unknown model its" in refused(
        place, capsys, "study.yaml", "--model", "its", "--algorithm", "newton", *rest
    )
    assert "nothing.yaml: cannot be read" in refused(
        place, capsys, "nothing.yaml", *OF, "newton", *rest
    )
    assert (place.folder / "data.csv.ledger").read_bytes() == before
    (place.folder / "data.csv.ledger").unlink()
    assert "python -m dpmcmc ledger new data.csv" in refused(
        place, capsys, "study.yaml", *OF, "newton", *rest
    )


def test_what_is_known_without_the_data_is_refused_before_anything_is_spent(place, capsys):
    place.ledger()
    study, of = place.folder / "study.yaml", ("study.yaml", *OF, "newton", "--epsilon", 1)
    text = study.read_text()
    (place.folder / "named.py").write_text(
        "from leaking import *\n\nclass Named(Plain):\n    parameter_names = ('a,b',)\n"
    )
    for old, new, expected in (
        (
            "data: data.csv",
            "data: data.csv, num_rows: 3",
            "models.mine.num_rows: must not be given",
        ),
        (
            "data: data.csv",
            "data: data.csv, columns: [x]",
            "columns: must be the 2 of Plain, not 1",
        ),
        ("leaking.py:Plain", "named.py:Named", "Named.parameter_names: must be a tuple of 1 diff"),
    ):
        study.write_text(text.replace(old, new))
        assert expected in refused(place, capsys, *of, "--output", "out", "--plan")
    study.write_text(text)
    assert "--draws: must be at most 10000000" in refused(
        place, capsys, *of, "--output", "out", "--draws", 10**7 + 1
    )
    assert "--output: must be a new folder, and data.csv/x cannot be made" in refused(
        place, capsys, *of, "--output", "data.csv/x"
    )
    (place.folder / "data.csv").rename(place.folder / "other.csv")
    assert "must be a file that can be read, not data.csv" in refused(
        place, capsys, *of, "--output", "out"
    )
    assert not ledger.read("data.csv").releases


@pytest.mark.parametrize(
    "names", [5, "ab", ("a",), (1, 2), ("a", "a"), ("a", "b\n"), ("a", "draw"), ("a", "")]
)
def test_names_of_parameters_must_fit_a_csv(names):
    class Model:
        dimension = 2
        parameter_names = names

    with pytest.raises(JobError, match="must be a tuple of 2 different texts"):
        parameter_names(Model())


# -- After the ledger's line -----------------------------------------------------------------------


@pytest.fixture
def made_up(monkeypatch):
    """Draws are made up, so that it is quick, and not tried out, so that this is the first run."""

    def draws(planned, _):
        return None, Drawn(np.zeros((1, planned.kept, 1)))

    monkeypatch.setattr(command, "run_data_process", draws)
    monkeypatch.setattr(command, "try_out", lambda *_: None)
    monkeypatch.setattr("dpmcmc.release.own_code.check_own_code", lambda _: None)
    return monkeypatch


@pytest.mark.parametrize(
    ("where", "name", "error", "expected"),
    [
        ("ledgers", "append", KeyboardInterrupt, "the run was interrupted. `ledger show` says"),
        ("ledgers", "write", KeyboardInterrupt, "the run was interrupted. `ledger show` says"),
        (
            "command",
            "run_data_process",
            KeyboardInterrupt,
            "the run was interrupted. Its planned cost",
        ),
        ("statement", "statement", TypeError("secret"), "not be completed (TypeError). Its plan"),
        ("statement", "write", MemoryError, "could not be completed (MemoryError). Its planned"),
        ("statement", "as_netcdf", OSError(28, "No space"), "completed ([Errno 28] No space). Its"),
    ],
)
def test_whatever_happens_after_the_line_is_no_refusal(
    place, made_up, capsys, where, name, error, expected
):
    place.ledger()
    owner = {"ledgers": ledger, "command": command, "statement": statement}[where]
    genuine = getattr(owner, name)

    def failing(*arguments):
        if where == "ledgers":
            genuine(*arguments)
        raise error

    made_up.setattr(owner, name, failing)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 3
    assert expected in capsys.readouterr().err
    assert len(ledger.read("data.csv").releases) == 1
    assert not list(place.folder.glob(".*")) and not (place.folder / "out").exists()


def test_an_interrupt_of_a_command_that_spends_nothing_says_no_more(place, monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    place.ledger()
    monkeypatch.setattr(ledger, "read", interrupted)
    capsys.readouterr()
    assert place.run("ledger", "show", "data.csv") == 1
    assert capsys.readouterr().err == "ledger: interrupted.\n"


def test_an_output_that_is_broken_at_the_end_does_not_look_like_a_refusal(place):
    """/dev/full takes nothing that is written; neither does it change the exit status."""
    place.ledger()
    script = (
        "import os, sys, numpy as np; from dpmcmc.release import command\n"
        "from dpmcmc.release.launcher import Drawn\n"
        "def run_data_process(planned, _):\n"
        "    for number in (1, 2): os.dup2(os.open('/dev/full', os.O_WRONLY), number)\n"
        "    return None, Drawn(np.zeros((1, planned.kept, 1)))\n"
        "command.run_data_process = run_data_process\n"
        "sys.exit(command.main('release', sys.argv[1:]))\n"
    )
    of = "study.yaml", *OF, "newton", "--epsilon", "1", "--draws", "5", "--output", "out"
    of += ("--unchecked",)
    ended = subprocess.run([sys.executable, "-c", script, *of], capture_output=True, check=False)
    assert ended.returncode == 0  # it is published, and noted
    assert (place.folder / "out/chain.nc").exists()
    assert len(ledger.read("data.csv").finished) == 1
    with open("/dev/full", "wb") as full:  # broken from the start
        ended = subprocess.run([sys.executable, "-c", script, *of], stdout=full, check=False)
    assert ended.returncode == 1
    assert len(ledger.read("data.csv").releases) == 1


def test_a_disk_that_is_full_while_draws_are_written_ends_in_a_line(place, made_up, capsys):
    """HDF5 would crash; here files may have so many bytes as the others and chain.nc have not."""
    place.ledger()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, before[1]))
    try:
        status = place.release("newton", 1, "out", "--draws", 5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 3
    assert "File too large" in capsys.readouterr().err
    assert not list(place.folder.glob(".*")) and not (place.folder / "out").exists()


def test_nothing_is_published_beside_what_was_written(place, made_up, capsys):
    place.ledger()
    write = statement.write

    def with_more(folder, *arguments):
        (folder / "more.txt").touch()
        write(folder, *arguments)

    made_up.setattr(statement, "write", with_more)
    assert place.release("newton", 1, "out", "--draws", 5) == 3
    assert "contains files that this release did not write" in capsys.readouterr().err
    assert not (place.folder / "out").exists()


@pytest.mark.parametrize("change", ["replaced", "overwritten", "removed"])
def test_what_a_replaced_ledger_does_not_count_is_not_published(place, made_up, capsys, change):
    """An older copy takes its place while the release runs, as a file or in the same file."""
    place.ledger()
    path, genuine = place.folder / "data.csv.ledger", command.run_data_process
    older = path.read_bytes()

    def replacing(planned, budget):
        if change != "overwritten":
            path.unlink()
        if change != "removed":
            path.write_bytes(older)
        return genuine(planned, budget)

    made_up.setattr(command, "run_data_process", replacing)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 3
    said = capsys.readouterr().err
    assert "was removed or replaced while this ran, and does not have the line" in said
    assert said.count("\n") == 1
    assert not (place.folder / "out").exists()
    assert not path.exists() if change == "removed" else path.read_bytes() == older


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("fsync_folder", OSError(13, "Permission denied"), "noted ([Errno 13] Permission denied)"),
        ("note", JobError("data.csv.ledger cannot be written (No space)"), "written (No space))"),
        ("note", KeyboardInterrupt(), "noted (interrupted)"),
    ],
)
def test_published_is_published_whatever_fails_after_it(
    place, made_up, capsys, name, error, expected
):
    place.ledger()
    genuine = getattr(command if name == "fsync_folder" else ledger, name)

    def failing(*arguments):
        if (place.folder / "out").exists():
            raise error
        return genuine(*arguments)

    made_up.setattr(command if name == "fsync_folder" else ledger, name, failing)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == command.PUBLISHED == 4
    said = capsys.readouterr().err
    assert "release: out is published, and its cost is spent, but not all of that could" in said
    assert expected in said and said.count("\n") == 1 and "completed" not in said
    assert len(list((place.folder / "out").iterdir())) == 4
    is_noted = name == "fsync_folder"
    assert place.run("ledger", "show", "data.csv") == 0
    shown = capsys.readouterr().out
    assert ("rows  published" if is_noted else "spent; not noted as published") in shown
    assert "nothing published" not in shown


def test_an_interrupt_that_comes_too_late_is_no_end(place, made_up, capsys):
    place.ledger()
    rename = command.os.rename

    def interrupted(old, new):
        rename(old, new)
        if str(new) == "out":
            raise KeyboardInterrupt

    made_up.setattr(statement.os, "rename", interrupted)
    assert place.release("newton", 1, "out", "--draws", 5) == 0
    assert "written to out" in capsys.readouterr().out
    assert len(ledger.read("data.csv").finished) == 1


def test_who_closes_the_pipe_learns_of_the_release_outside(place, made_up, capsys):
    """As by `| head -4`."""
    place.ledger()

    def broken(text, **more):
        if more.get("file") is None and text.startswith(("written", "    spent now")):
            raise BrokenPipeError(32, "Broken pipe")
        print(text, **more)

    made_up.setattr(terminal, "print", broken, raising=False)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 0
    assert capsys.readouterr().err.startswith("written to out: chain.csv")


def test_draws_that_cannot_be_moved_are_kept(place, made_up, capsys):
    place.ledger()
    rename = statement.os.rename

    def failing(old, new):
        if str(new) == "out":
            raise OSError(39, "Directory not empty")
        rename(old, new)

    made_up.setattr(statement.os, "rename", failing)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 3
    said = capsys.readouterr().err
    assert "out cannot be written (Directory not empty)" in said
    assert "they are kept in .out.partial." in said and said.count("\n") == 1
    kept = place.folder / ".out.partial"
    assert {file.name for file in kept.iterdir()} == {*statement.FILES}
    assert place.release("newton", 1, "out", "--draws", 5) == 1  # nor are they replaced
    assert len(ledger.read("data.csv").releases) == 1


@pytest.mark.parametrize("output", ["new/..", "..", ".", "there/.."])
def test_an_output_that_can_have_no_name_is_refused(place, made_up, capsys, output):
    place.ledger()
    (place.folder / "there").mkdir()
    capsys.readouterr()
    message = refused(
        place, capsys, "study.yaml", *OF, "newton", "--epsilon", 1, "--output", output
    )
    assert "must be a new folder" in message or "exists already" in message
    assert not ledger.read("data.csv").releases and not (place.folder / "new").exists()


def test_of_two_with_the_same_output_the_second_is_refused(place, made_up, capsys):
    """It starts while the first one runs."""
    place.ledger()
    first = command.run_data_process

    def meanwhile(planned, budget):
        made_up.setattr(command, "run_data_process", first)
        assert place.release("newton", 1, "out", "--draws", 5) == 1
        return first(planned, budget)

    made_up.setattr(command, "run_data_process", meanwhile)
    capsys.readouterr()
    assert place.release("newton", 1, "out", "--draws", 5) == 0
    assert ".out.partial is of another release to out, which still runs" in capsys.readouterr().err
    assert len(ledger.read("data.csv").releases) == 1


def test_a_folder_that_cannot_be_read_is_refused_before_anything_is_spent(place, made_up, capsys):
    """Its names could not be brought to disk."""
    place.ledger()

    def unreadable(_):
        raise OSError(13, "Permission denied")

    made_up.setattr(command, "fsync_folder", unreadable)
    of = "study.yaml", *OF, "newton", "--epsilon", 1, "--output", "out"
    capsys.readouterr()
    assert "cannot be read (Permission denied)" in refused(place, capsys, *of)
    assert not ledger.read("data.csv").releases and not list(place.folder.glob(".*"))


def test_a_release_that_is_terminated_leaves_no_folder(place, made_up, capsys):
    place.ledger()
    made_up.setattr(command, "run_data_process", lambda *_: signal.raise_signal(signal.SIGTERM))
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    capsys.readouterr()
    try:
        assert place.release("newton", 1, "out", "--draws", 5) == 3
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "the run was interrupted. Its planned cost is spent." in capsys.readouterr().err
    assert not list(place.folder.glob(".*"))


def test_closed_streams_are_no_files_of_the_command(place):
    """A file that is opened would become one, and be written to."""
    place.ledger()
    before = (place.folder / "data.csv.ledger").read_bytes()
    shell = '"$0" -m dpmcmc ledger show data.csv '
    for closed in (">&-", ">&- 2>&- <&-"):
        ended = subprocess.run(["sh", "-c", shell + closed, sys.executable], check=False)
        assert ended.returncode == 0
        assert (place.folder / "data.csv.ledger").read_bytes() == before


def test_models_that_simulate_need_no_release(place, capsys):
    message = refused(
        place,
        capsys,
        *("study.yaml", "--model", "circle", "--algorithm", "dp-penalty"),
        *("--epsilon", 1, "--output", "out"),
    )
    assert "missing key data: it simulates its data" in message


@pytest.mark.parametrize(
    "option",
    ["--epsilon=0", "--epsilon=x", "--epsilon=1_0", "--rows=6_0", "--delta=1", "--chains=0"],
)
def test_options_out_of_range_are_refused(place, capsys, option):
    place.ledger()
    with pytest.raises(SystemExit) as end:
        place.release("newton", 1, "out", option)
    assert end.value.code == 2
    assert "must be a" in text_of(capsys)


def use_instead_of(place, name):
    """Let the study have the class Wrong of wrong.py in the place of another; with a ledger."""
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace(name, "wrong.py:Wrong"))
    place.ledger()


def test_code_that_fails_its_check_starts_nothing(place, capsys):
    (place.folder / "wrong.py").write_text(
        "from leaking import *\n\nclass Wrong(Plain):\n"
        "    def gradient(self, theta, rows):\n"
        "        return 2 * super().gradient(theta, rows)\n"
    )
    use_instead_of(place, "leaking.py:Plain")
    assert place.release() == 1
    message = text_of(capsys)
    assert "wrong.py:Wrong does not pass its check, so nothing was started" in message
    assert not ledger.read("data.csv").releases


def test_a_sampler_of_one_s_own_is_checked_too(place, capsys):
    (place.folder / "wrong.py").write_text(
        "from leaking import *\n\nclass Wrong(AddsNoNoise):\n"
        "    def step(self, rng, state, target):\n"
        "        total, clipped = target.clipped_gradient(state.position, 1.0)\n"
        "        total = rng.add_noise(total, 1.0, 1.0 * self.noise_scale)\n"
        "        return State(state.position + 1e-3 * total), Info(True, 0.0)\n"
    )
    use_instead_of(place, "leaking.py:AddsNoNoise")
    assert place.release("own", 2, "out", "--start", "0") == 1
    assert "One row moves a released statistic by at most its sensitivity" in text_of(capsys)


def test_statements_of_neighbours_are_the_same_to_the_byte(place, monkeypatch):
    """With the same noise: but for digests of the ledger, with its secret salt, and of draws."""
    from dpmcmc.random_streams import three_streams
    from dpmcmc.release import data_process

    seed = np.random.SeedSequence(1)
    monkeypatch.setattr(data_process, "SecretStreams", lambda *_: three_streams(seed))
    monkeypatch.setattr(command, "run_data_process", inside_here)
    texts = []
    for i, last in enumerate(("0.25", "7")):
        place.write("Plain", [*place.lines()[:-1], f"{last},1"])
        place.ledger()
        assert place.release("newton", 1, f"out{i}") == 0
        facts = json.loads((place.folder / f"out{i}/statement.json").read_text())
        digests = facts["ledger_head"], facts["ledger_head"][:16], *facts["sha256"].values()
        texts.append([])
        for name in ("statement.json", "statement.txt"):
            text = (place.folder / f"out{i}/{name}").read_text()
            for digest in digests:
                text = text.replace(digest, "")
            texts[-1].append(text)
    assert texts[0] == texts[1]


def inside_here(planned, budget):
    """What the process that reads the data does, here."""
    spec = spec_of(planned, budget)
    answer, draws = work(spec, contents_of(spec))
    assert answer["end"] == "finished" and 0 < answer["misfit"] < 4
    return None, Drawn(draws)  # without the misfit, which follows from what was released


def test_no_path_host_or_time_is_in_what_is_published(place):
    place.ledger()
    assert place.release() == 0
    for file in (place.folder / "out").iterdir():
        contents = file.read_bytes()
        for secret in (str(place.folder), "data.csv", ledger.read("data.csv").budget.salt):
            assert secret.encode() not in contents
    facts = json.loads((place.folder / "out/statement.json").read_text())
    assert len(facts["date"]) == 10


def test_settings_are_published_without_folders():
    move = {"class": "dpmcmc.samplers.moves:GaussianWalk", "proposal_scale": 1}
    spec = {"class": "dpmcmc.samplers.noisy_newton:NoisyNewton", "move": move, "shares": [1.0]}
    found = code.settings_of(spec)
    assert found == {
        "class": "NoisyNewton",
        "move": {"class": "GaussianWalk", "proposal_scale": 1},
        "shares": [1.0],
        "gradient_clip_bound": None,  # left at its default
        "information_ratio": None,
        "noise_scale": None,
        "start": 0.0,
        "fit_share": 0.03,
    }


@pytest.mark.parametrize("epsilon", chosen([1.0, 4.0], 1.0))
def test_a_plan_keeps_to_its_epsilon_whatever_the_method(place, epsilon):
    study = yaml.safe_load((place.folder / "study.yaml").read_text())
    more = {"noise_variance": 2, "proposal_scale": 0.3, "batch_size": 30, "clip_bound": 0.1}
    study["algorithms"] |= {
        "minibatch-dp-penalty-certified": {"settings": {"mine": more}},
        "dp-barker-certified": {"settings": {"mine": {"proposal_scale": 0.3, "batch_size": 30}}},
        "started": study["algorithms"]["penalty"]
        | {"start": "NoisyNewton"}
        | {
            "settings": {
                "mine": study["algorithms"]["penalty"]["settings"]["mine"]
                | {
                    "start": {
                        "gradient_clip_bound": 2,
                        "information_ratio": 0.2,
                        "shares": [0.4, 0.6],
                    }
                }
            }
        },
    }
    (place.folder / "study.yaml").write_text(yaml.safe_dump(study))
    for name in ("newton", "penalty", "started", "dp-barker-certified"):
        part = read_part("study.yaml", "mine", name, ROWS)
        start = None if name in ("newton", "started") else "prior"
        planned = plan(part, epsilon, 1e-3, 2 if name == "penalty" else 1, start)
        assert 0 < planned.epsilon <= epsilon
        assert planned.least_noise > 0.3
        assert planned.delta0 == (1e-4 if "barker" in name else 0.0)
        allowed = planned.allowed
        if planned.delta0:
            [(_, count)] = allowed.batches
            assert (count, allowed.batch_size) == (planned.iterations, 30)
        else:
            assert planned.chains * allowed.mu_squared == pytest.approx(planned.mu**2, rel=1e-12)
            cost = gaussian.delta([(GaussianMechanism(planned.mu), 1)], planned.epsilon - 9e-6)
            assert cost <= 1e-3
