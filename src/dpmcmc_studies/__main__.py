import gc
import os
import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current directory, as by -P: a file there must not stand for a library

from dpmcmc_studies.cli import main

gc.disable()  # jobs are short: modules leave no garbage, and looking for it takes time
main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # all files are closed, and taking the modules apart takes longer than many a chain
