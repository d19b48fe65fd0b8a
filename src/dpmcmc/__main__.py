import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current directory, as by -P: a file there must not stand for a library

from dpmcmc.cli import as_program, main

as_program(main)
