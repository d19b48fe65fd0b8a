"""Start the process that reads the data, and understand what it says."""

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

import numpy as np

from dpmcmc.release.inside import CHANGED, SAME


def run_inside(planned, budget):
    """Run the process that reads the data: a problem in one sentence, or None and the draws."""
    reader, writer = os.pipe()
    spec = spec_of(planned, budget) | {"answers": writer}
    with open(reader, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpmcmc.release.inside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
            process_group=0,
        )
        others = threading.Thread(target=end_group, args=[process.pid])
        try:
            os.close(writer)
            others.start()
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(spec).encode() + b"\n")
                process.stdin.flush()
            return understood(pipe, planned)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            others.join()
            process.communicate()


def end_group(leader):
    """Kill what a process has started when it ends; else that would hold the pipe open."""
    os.waitid(os.P_PID, leader, os.WEXITED | os.WNOWAIT)
    os.killpg(leader, signal.SIGKILL)


def spec_of(planned, budget):
    """What the process that reads the data is given, but for where it answers."""
    part = planned.part
    return {
        "model": part.model.spec,
        "sampler": part.algorithm.spec(part.settings),
        "noise_scale": planned.noise_scale,
        "data": str(part.model.data),
        "columns": part.columns,
        "salt": budget.salt,
        "fingerprint": budget.fingerprint,
        "start": planned.start,
        "chains": planned.chains,
        "iterations": planned.iterations,
        "draws": planned.kept,
        "least_noise": planned.least_noise,
        "files": part.files,
    }


def understood(pipe, planned):
    """A problem and draws, of what that process says: nothing of it is shown as it stands.

    Only its first line is out of reach of a model's code.
    """
    part, shape = planned.part, (planned.chains, planned.kept, len(planned.names))
    model = type(part.model.model).__name__
    verdict = pipe.readline(len(CHANGED))
    if verdict == CHANGED:
        return "changed", None
    answer, end = {}, None
    with suppress(ValueError, KeyError, TypeError):
        answer = json.loads(pipe.readline(1000)) if verdict == SAME else {}
        end = answer["end"]
        if end == "finished" and answer["shape"] == [*shape]:
            draws = np.frombuffer(pipe.read(8 * math.prod(shape)))
            return None, draws.reshape(shape)
    if end is None:
        return "the chain ended without an answer: it was killed, or ran out of memory", None
    if end == "rows":
        return "the model does not keep as many rows of the data as were declared", None
    if end == "data":
        return (
            f"the data are not what {model} takes; `python -m dpmcmc check ... "
            "data=...` says where, to those who may see them"
        ), None
    return f"the chain could not be finished{where(answer, part)}", None


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
    return f" ({text}; run `check`, or `rehearse`, on simulated data)"
