# Chains and budgets on this machine are forks of processes with their imports done: half of the time
# of many a job is the start of Python and NumPy. The servers end with Snakemake, however that ends, once their jobs have.

import atexit
import subprocess

from dpmcmc.fork_client import variable
from dpmcmc.fork_server import SERVERS


def start_fork_servers():
    if not workflow.local_exec or sys.platform != "linux":
        return
    servers = {
        name: subprocess.Popen(
            [sys.executable, "-m", "dpmcmc", "fork-server", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in SERVERS
    }
    for name, server in servers.items():
        os.environ[variable(name)] = server.stdout.readline().strip()
        atexit.register(server.communicate)  # which closes the pipe and waits
