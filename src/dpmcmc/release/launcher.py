"""Start the process that reads the data, or a twin of them, and understand what it says."""

import builtins
import json
import math
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpmcmc.release.data_process import CHANGED, SAME
from dpmcmc.release.running import MOST_LETTERS
from dpmcmc.samplers.far_outcomes import Far

# Of variables that let OpenDP, or the OpenSSL in it, load other code in place of what draws noise.
PREFIXES = ("OPENDP_", "OPENSSL_")
LARGEST = 1e6  # misfit that is published, as JSON has no infinity; larger ones are cut
ANSWER_BYTES = 1000 + 12 * MOST_LETTERS  # JSON writes a letter in up to twelve


class Drawn(NamedTuple):
    """Result of a release."""

    draws: np.ndarray  # (chains, kept, d), in the units of the file
    misfit: float | None = None  # as of `Info`; None for methods that have none
    far: tuple[Far, ...] = ()  # likewise


def run_data_process(planned, budget):
    """Run the process that reads the data: a problem in one sentence or None, and what was `Drawn`.

    Parameters
    ----------
    planned : Plan
    budget : Budget or None
        None for a twin: then that process does not learn where the data are.
    """
    reader, writer = os.pipe()
    spec = spec_of(planned, budget) | {"answers": writer}
    with open(reader, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dpmcmc.release.data_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
            env=environment(),
            process_group=0,
        )
        others = threading.Thread(target=end_group, args=[process.pid])
        try:
            os.close(writer)
            others.start()
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(spec).encode() + b"\n")
                process.stdin.flush()
            return understood(pipe, planned, budget is None)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            others.join()
            process.communicate()


def environment():
    """Variables for that process, without those by which other code would be loaded.

    An empty entry of PYTHONPATH, as in `:folder`, would be the current directory.
    """
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(PREFIXES)}
    if "PYTHONPATH" in kept:
        folders = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    return kept


def end_group(leader):
    """Kill what a process has started when it ends; else that would hold the pipe open."""
    os.waitid(os.P_PID, leader, os.WEXITED | os.WNOWAIT)
    os.killpg(leader, signal.SIGKILL)


def spec_of(planned, budget):
    """Input of the process that reads the data, except the place of its answer."""
    part = planned.part
    return {
        "model": part.model.spec,
        "sampler": planned.spec,
        "noise_scale": planned.noise_scale,
        "data": budget and str(part.model.data),
        "suffix": part.model.data.suffix,
        "columns": part.columns,
        "salt": budget and budget.salt,
        "fingerprint": budget and budget.fingerprint,
        "start": planned.start,
        "chains": planned.chains,
        "iterations": planned.iterations,
        "draws": planned.kept,
        "allowed": planned.allowed._asdict(),
        "files": part.files,
    }


def understood(pipe, planned, is_twin):
    """A problem and what was `Drawn`, by what that process says: no text of it is shown.

    Only its first line is out of reach of a model's code.
    """
    shape = (planned.chains, planned.kept, len(planned.names))
    verdict = pipe.readline(len(CHANGED))
    if verdict == CHANGED:
        return "changed", None
    answer, end = {}, None
    with suppress(ValueError, KeyError, TypeError):
        answer = json.loads(pipe.readline(ANSWER_BYTES)) if verdict == SAME else {}
        end = answer["end"]
        if end == "finished" and answer["shape"] == [*shape]:
            draws = np.frombuffer(pipe.read(8 * math.prod(shape)))
            misfit = float(answer["misfit"])
            far = tuple(Far(*map(float, one)) for one in answer["far"])
            draws = planned.model.in_file_units(draws.reshape(shape))
            return None, Drawn(draws, None if math.isnan(misfit) else min(misfit, LARGEST), far)
    return problem_of(end, answer, planned.part, is_twin), None


def problem_of(end, answer, part, is_twin):
    """Outcome, in one sentence."""
    if end is None:
        return "the chain ended without an answer: it was killed, or ran out of memory"
    if end == "rows":
        return (
            "the model does not keep as many rows of the data as were declared; "
            f"`{part.check_command}` says how many, to those who may see the data"
        )
    if end == "data":
        return (
            f"the data are not what {type(part.model.model).__name__} takes; "
            f"`{part.check_command}` says where, to those who may see the data"
        )
    if end == "alone":
        return f"what {type(part.model.model).__name__} says of a row depends on other rows"
    if end == "released":
        return (
            f"the draws of {part.algorithm.sampler_class.__name__} depend on the rows by more than "
            "what it releases"
        )
    place = where(answer, part)
    if is_twin:  # what the package raises says enough; a user's own exception has a place
        is_own = place and " in dpmcmc/" not in place
        return f"{answer.get('message') or end}{f' ({place})' * bool(is_own)}"
    more = f" ({place}; run `check`, or `rehearse`, on simulated data)" if place else ""
    return f"the chain could not be finished{more}"


def where(answer, part):
    """Kind and place of a failure, each of a fixed list; empty where they are not."""
    kind, place = answer.get("kind"), answer.get("place")
    if not (isinstance(kind, str) and isinstance(getattr(builtins, kind, None), type)):
        return ""
    text = kind
    if isinstance(place, list) and len(place) == 2:
        name, line = place
        files = {Path(file).name: Path(file) for file in part.files}
        package = Path(__file__).parents[2]
        files |= {str(f.relative_to(package)): f for f in package.glob("dpmcmc/**/*.py")}
        if name in files and isinstance(line, int):
            lines = files[name].read_text(encoding="utf-8").count("\n") + 1
            if 0 < line <= lines:
                text += f" in {name}, line {line}"
    return text
