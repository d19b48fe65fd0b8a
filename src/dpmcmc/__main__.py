import gc
import os
import sys

from dpmcmc.fork_client import run_forked

gc.disable()  # jobs are short: modules leave no garbage, and looking for it takes time
arguments = sys.argv[1:]
if arguments[:1] == ["fork-server"]:
    from dpmcmc.fork_server import serve

    arguments = serve(arguments[1], sys.stdin)  # in a fork, which goes on as the job
elif (status := run_forked(arguments)) is not None:
    os._exit(status)

from dpmcmc.cli import main

main(arguments)
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # all files are closed, and taking the modules apart takes longer than many a chain
