"""The side of a job that asks for a fork: see `dpmcmc.fork_server`.

Every job of a study starts here, so it imports next to nothing; `socket` alone would take as long
as all the rest, hence the module below it.
"""

import _socket as socket
import os
import struct
import sys

# The commands of which a study has many, and their server.
COMMANDS = {
    "chain": "chains",
    "clipped-chain": "chains",
    "budget": "accounting",
    "certification": "accounting",
    "accounting-curve": "accounting",
}


def run_forked(arguments):
    """Have the server run a command in a fork.

    Parameters
    ----------
    arguments : list of str
        The command and its options.

    Returns
    -------
    int or None
        Exit status of the fork, 128 + n where signal n ended it; None if there is no server of this
        user and environment for the command.
    """
    server = COMMANDS.get("".join(arguments[:1]))
    address, _, prefix = os.environ.get(variable(server), "").partition(" ")
    if server is None or prefix != sys.prefix:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(f"\0{address}")
        if connection.fileno() < 3 or not is_of_this_user(connection):  # output is closed
            return None
        files = struct.pack("3i", 1, 2, os.open(".", os.O_RDONLY))
        request = os.fsencode("\0".join(arguments))
        connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        status = connection.recv(1)
    except OSError:  # nobody has read the request
        return None
    finally:
        connection.close()
    if not status:
        sys.exit(f"{arguments[0]}: the server that forks jobs was killed; run again")
    return status[0]


def variable(server):
    """Variable of the environment with a server's address, and the environment it runs in."""
    return f"DPMCMC_FORK_SERVER_{server}"


def is_of_this_user(connection):
    """Whether the process at the other end belongs to the same user."""
    ids = struct.Struct("3i")  # process, user, group
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, ids.size)
    return ids.unpack(peer)[1] == os.geteuid()
