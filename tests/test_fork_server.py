"""A chain job run as a fork is the same job, and ends with whoever asked for it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from dpmcmc.fork_client import run_forked, variable
from dpmcmc.fork_server import SERVERS
from dpmcmc.jobs import simulate

MODEL = {
    "kind": "gaussian",
    "num_rows": 500,
    "prior_variance": 100,
    "covariance": [[1.0, 0.5], [0.5, 2.0]],
    "true_position": [0, 3],
}
SPEC = {
    "study_seed": 1,
    "model": "gauss",
    "model_settings": MODEL,
    "algorithm": "rwmh",
    "settings": {"iterations": 100, "proposal_scale": 0.1},
    "bound": "1",
    "start_sd": 1.0,
    "seed": 0,
}
BUDGET = {
    "model": "gauss",
    "algorithm": "dp-penalty",
    "settings": {"noise_scale": 0.1, "clip_bound": 1.0, "proposal_scale": 0.1},
    "num_rows": 10_000,
    "likelihood_power": 1.0,
    "delta": 1e-5,
    "accountant": "gaussian",
    "epsilon": 1.0,
}
ENDLESS = SPEC | {"settings": {"iterations": 10**8, "proposal_scale": 0.1}}


@pytest.fixture
def directory(tmp_path):
    np.save(tmp_path / "data.npy", simulate(SPEC, "data"))
    return tmp_path


@pytest.fixture
def server(request):
    name = getattr(request, "param", "chains")
    process = subprocess.Popen(
        [sys.executable, "-m", "dpmcmc", "fork-server", name],
        env=environment(None),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.address = process.stdout.readline().strip()
    yield process
    for watcher in children(process.pid):
        for job in children(watcher):
            os.kill(job, signal.SIGKILL)
    process.stdin.close()
    process.wait(20)


def environment(address):
    kept = {name: value for name, value in os.environ.items() if name not in map(variable, SERVERS)}
    asking = dict.fromkeys(map(variable, SERVERS), address) if address else {}
    return kept | {"PYTHONPATH": str(ROOT / "src")} | asking


def start(directory, address, spec=SPEC):
    """Start a chain job, with relative paths, from a directory that is not the server's."""
    arguments = {"spec": json.dumps(spec), "dataset": "data.npy", "output": "out/chain.npz"}
    return start_command("clipped-chain", arguments, directory, address)


def start_command(command, arguments, directory, address):
    words = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    return subprocess.Popen(
        [sys.executable, "-m", "dpmcmc", command, *words],
        cwd=directory,
        env=environment(address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_interrupts,
    )


def restore_interrupts():
    """As a process of the background, these tests may have been told to ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def asking(server, arguments, *files):
    """Connection with a request to the server, of a client that neither looks nor waits."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"\0{server.address.split()[0]}")
    socket.send_fds(connection, ["\0".join(arguments).encode()], files)
    return connection


def run(directory, address, spec=SPEC):
    """Exit status, output and errors of a job."""
    process = start(directory, address, spec)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def chain_of(directory):
    with np.load(directory / "out/chain.npz") as contents:
        return {name: contents[name].tolist() for name in contents if name != "timing"}


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def job_of(server):
    """Process of the one job that runs, and of the one that watches it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for watcher in children(server.pid):
            for job in children(watcher):
                return job, watcher
        time.sleep(0.02)
    pytest.fail("the server has no job")


def has_ended(pid):
    """Whether a process ends within some seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_a_fork_writes_the_same_chain(directory, server):
    assert run(directory, None) == (0, "", "")
    alone = chain_of(directory)
    (directory / "out/chain.npz").unlink()
    assert run(directory, server.address) == (0, "", "")
    assert chain_of(directory) == alone
    assert json.loads(alone["record"])["iterations"] == 100


@pytest.mark.parametrize("server", ["accounting"], indirect=True)
def test_a_fork_writes_the_same_budget(tmp_path, server):
    written = []
    for address in (None, server.address):
        arguments = {"spec": json.dumps(BUDGET), "output": "budget.json"}
        process = start_command("budget", arguments, tmp_path, address)
        assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
        written.append((tmp_path / "budget.json").read_bytes())
        (tmp_path / "budget.json").unlink()
    assert written[0] == written[1] and json.loads(written[0])["iterations"] > 0


def test_the_server_has_run_the_job(directory, server):
    process = start(directory, server.address, ENDLESS)
    job, _ = job_of(server)
    assert process.pid != job and Path(f"/proc/{job}/cwd").readlink() == directory
    process.kill()
    process.communicate()


@pytest.mark.parametrize("spec", [SPEC | {"bound": "much"}, SPEC | {"algorithm": "none"}])
def test_an_error_is_the_same_error(directory, server, spec):
    alone, forked = run(directory, None, spec), run(directory, server.address, spec)
    assert alone[0] == forked[0] == 1
    assert alone[2].splitlines()[-1] == forked[2].splitlines()[-1] != ""


def test_a_missing_file_is_the_same_error(directory, server):
    (directory / "data.npy").unlink()
    alone = run(directory, None)
    assert alone[0] == 1 and "data.npy" in alone[2]
    assert run(directory, server.address) == alone


def test_jobs_run_side_by_side(directory, server):
    long = start(directory, server.address, ENDLESS)
    job_of(server)
    assert run(directory, server.address)[0] == 0
    assert long.poll() is None
    long.kill()
    long.communicate()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_job_ends_with_its_client(directory, server, ending):
    process = start(directory, server.address, ENDLESS)
    job, watcher = job_of(server)
    process.send_signal(ending)
    process.communicate(timeout=20)
    assert process.returncode
    assert has_ended(job) and has_ended(watcher)
    assert not list(directory.glob("out/*"))


def test_no_job_outlives_a_client_that_ends_at_once(directory, server):
    options = ["--spec", json.dumps(ENDLESS), "--dataset", "data.npy", "--output", "chain.npz"]
    where = os.open(directory, os.O_RDONLY)
    output = os.open(directory / "log", os.O_WRONLY | os.O_CREAT)
    for _ in range(30):
        asking(server, ["clipped-chain", *options], output, output, where).close()
    time.sleep(0.5)
    assert all(has_ended(watcher) for watcher in children(server.pid))


def test_a_job_that_heeds_no_interrupt_is_killed(directory, server):
    process = start(directory, server.address, ENDLESS)
    job, watcher = job_of(server)
    os.kill(job, signal.SIGSTOP)
    process.kill()
    process.wait()
    assert has_ended(job) and has_ended(watcher)


def test_a_killed_job_is_a_failed_command(directory, server):
    process = start(directory, server.address, ENDLESS)
    job, _ = job_of(server)
    os.kill(job, signal.SIGKILL)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGKILL


def test_the_server_ends_with_its_holder_once_jobs_are_done(directory, server):
    process = start(directory, server.address, ENDLESS)
    job, _ = job_of(server)
    server.stdin.close()
    time.sleep(0.2)
    assert server.poll() is None and process.poll() is None
    process.kill()
    process.communicate()
    assert server.wait(20) == 0 and has_ended(job)


def test_without_a_server_the_job_runs_itself(directory, server):
    server.stdin.close()
    server.wait(20)
    assert run(directory, server.address) == (0, "", "")


def test_a_server_that_is_killed_is_named(directory, server):
    process = start(directory, server.address, ENDLESS)
    job, watcher = job_of(server)
    os.kill(watcher, signal.SIGKILL)
    assert process.wait(20) == 1
    os.kill(job, signal.SIGKILL)  # it held the client's output
    _, errors = process.communicate(timeout=20)
    assert errors == "clipped-chain: the server that forks jobs was killed; run again\n"


def test_a_server_of_another_environment_is_not_asked(directory, server):
    process = start(directory, f"{server.address}/other", ENDLESS)
    time.sleep(1)
    assert not children(server.pid) and process.poll() is None
    process.kill()
    process.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_users_neither_ask_nor_serve_each_other(server, monkeypatch):
    monkeypatch.setenv(variable("chains"), server.address)
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        status = run_forked(["clipped-chain"])
        try:
            answer = asking(server, ["clipped-chain"], 1, 2, 2).recv(1)
        except (BrokenPipeError, ConnectionResetError):
            answer = None
        os._exit(0 if status is answer is None else 1)
    assert os.waitpid(pid, 0)[1] == 0
