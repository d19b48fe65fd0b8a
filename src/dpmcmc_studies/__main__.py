import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current directory, as by -P: a file there must not stand for a library

from dpmcmc_studies.cli import cli, main

cli.as_program(main)
