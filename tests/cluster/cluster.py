"""A Slurm cluster of this machine alone: munged, slurmctld and slurmd in a temporary directory.

It needs the Debian packages slurm-wlm and munge, and root. Nothing of an installed Slurm or munge
is read or changed; ports are free ones.

    python tests/cluster/cluster.py COMMAND

starts one, runs the command and stops it; without these packages it only runs the command.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
SLURM_CONF = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=5
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
MinJobAge=120
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why no cluster can be started here; "" if it can."""
    if os.geteuid():
        return "the cluster is started by root"
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    absent = [program for program in PROGRAMS if not shutil.which(program, path=search)]
    return f"{', '.join(absent)} not installed (packages slurm-wlm, munge)" if absent else ""


def version():
    """Of Slurm, as (year, month)."""
    output = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", output.stdout)[:2]))


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def slurm(directory):
    """Start a cluster; yields the variables by which its commands find it, and stops it."""
    directory = Path(directory)
    directory.chmod(0o755)
    host = socket.gethostname().partition(".")[0]
    controller_port, node_port = free_ports(2)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 * 9 // 10
    (directory / "slurm.conf").write_text(
        SLURM_CONF.format(
            host=host,
            controller_port=controller_port,
            node_port=node_port,
            directory=directory,
            cpus=os.cpu_count(),
            memory=memory,
        )
    )
    plugin = "disabled" if version() >= (23, 2) else "cgroup/v1"  # loaded, but not asked anything
    (directory / "cgroup.conf").write_text(f"CgroupPlugin={plugin}\n")
    for name in ("state", "spool"):
        (directory / name).mkdir()
    key = directory / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    # Snakemake's plugin takes the variable away from the srun of a job, which finds it by this.
    srun = directory / "bin/srun"
    srun.parent.mkdir()
    srun.write_text(
        f'#!/bin/sh\nSLURM_CONF={directory}/slurm.conf exec {shutil.which("srun")} "$@"\n'
    )
    srun.chmod(0o755)
    environment = os.environ | {
        "SLURM_CONF": str(directory / "slurm.conf"),
        "PATH": os.pathsep.join([str(srun.parent), os.environ["PATH"], "/usr/sbin", "/sbin"]),
    }
    munged = ["munged", "--foreground", "--force", f"--key-file={key}"]
    munged += [f"--socket={directory}/munge.socket", f"--pid-file={directory}/munge.pid"]
    munged += [f"--log-file={directory}/munge.log", f"--seed-file={directory}/munge.seed"]
    started = []
    try:
        for command in (munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            log = open(directory / f"{command[0]}.out", "wb")  # noqa: SIM115
            started.append(
                subprocess.Popen(
                    command, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )
            time.sleep(1)
        wait_for_node(environment, directory)
        yield {name: environment[name] for name in ("SLURM_CONF", "PATH")}
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for_node(environment, directory, seconds=60):
    """Until the node takes jobs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        nodes = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if nodes.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = [path.read_text(errors="replace")[-2000:] for path in directory.glob("*.log")]
    raise RuntimeError("\n".join(["the cluster did not start:", nodes.stdout, nodes.stderr, *logs]))


def main(command):
    with contextlib.ExitStack() as stack:
        variables = {}
        if not missing():
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            variables = stack.enter_context(slurm(directory))
        return subprocess.run(command, env=os.environ | variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
