# Chain jobs on this machine are forks of one process with their imports done: half of the time of
# many a chain is the start of Python and NumPy. The server ends with Snakemake, however that ends.

import atexit
import subprocess

from dpmcmc.fork_server import VARIABLE


def start_fork_server():
    if workflow.local_exec and sys.platform == "linux":
        server = subprocess.Popen(
            [sys.executable, "-m", "dpmcmc", "fork-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        os.environ[VARIABLE] = server.stdout.readline().strip()
        atexit.register(server.communicate)  # which closes the pipe and waits
