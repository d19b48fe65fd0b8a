"""Jobs as forks of a process that has done their imports already.

To start Python and import NumPy costs many a chain more than its sampling, and to import SciPy a
budget more than its search. So the workflow keeps two servers, on the machine and in the
environment that it runs in itself, and `python -m dpmcmc chain` asks one for a fork: a process of
its own, with the client's working directory and output and the workflow's environment variables,
which is ended when the client ends. Nothing but imports has happened in it before. Where there is
no server, on the node of a cluster or by hand, the same command runs the same job itself.
"""

import os
import secrets
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module

from dpmcmc.fork_client import is_of_this_user

# What each server imports for its forks: all that they would, be it on their way.
SERVERS = {
    "chains": [
        "dpmcmc.models",
        "dpmcmc.samplers",
        "dpmcmc.streams",
        "mmap",
        "resource",
        "shutil",
        "zipfile",
    ],
    "accounting": [
        "dp_accounting.pld.privacy_loss_distribution",
        "dpmcmc.samplers",
        "pandas",
        "scipy.special",
        "shutil",
    ],
}
MAX_BYTES = 2**18  # of a request
PATIENCE = 10  # seconds that a request has to arrive, and an interrupted job to end


def serve(server, lifeline):
    """Fork a process for each request; it is there that this function returns.

    First prints, for clients, the value of their `variable(server)`. The server ends when the other
    end of `lifeline` is closed, at the latest by the end of the process that holds it.

    Parameters
    ----------
    server : str
        Key of `SERVERS`.
    lifeline : file
        Reading end of a pipe.

    Returns
    -------
    list of str
        The command to run and its options.
    """
    for module in ["dpmcmc.cli", *SERVERS[server]]:
        import_module(module)
    os.close(os.pidfd_open(os.getpid()))  # an old Linux fails here already, and has no server
    at_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pipe's holder
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        address = f"dpmcmc-{secrets.token_hex(16)}"
        listener.bind(f"\0{address}")  # a name of no file
        listener.listen()
        print(address, sys.prefix, flush=True)
        while True:
            ready, _, _ = select.select([lifeline, listener], [], [])
            if lifeline in ready:
                listener.close()
                reap(0)
                os._exit(0)
            reap(os.WNOHANG)
            connection, _ = listener.accept()
            if not os.fork():
                break
            connection.close()
    return become_job(connection, at_interrupt)


def become_job(connection, at_interrupt):
    """Fork once more: one process watches, in the other this returns the request's arguments."""
    if not is_of_this_user(connection):
        os._exit(1)
    connection.settimeout(PATIENCE)
    request, files, flags, _ = socket.recv_fds(connection, MAX_BYTES, 3)
    if len(files) < 3 or flags & socket.MSG_TRUNC:  # the client has ended, or asks too much
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the job can heed it
    if job := os.fork():
        watch(job, connection)
    connection.close()
    output, errors, directory = files
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.fchdir(directory)
    signal.signal(signal.SIGINT, at_interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    return os.fsdecode(request).split("\0")


def reap(options):
    """Take notice of children that have ended; with option 0, wait for all."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def watch(job, connection):
    """Tell a job's client how the job ended, or interrupt the job if the client ends first."""
    ended = os.pidfd_open(job)
    if ended not in select.select([ended, connection], [], [])[0]:
        for _ in range(PATIENCE):
            os.kill(job, signal.SIGINT)  # so that it removes what it is writing
            if select.select([ended], [], [], 1)[0]:
                break
        else:
            os.kill(job, signal.SIGKILL)
    _, status = os.waitpid(job, 0)
    code = os.waitstatus_to_exitcode(status)
    with suppress(OSError):
        connection.send(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)
