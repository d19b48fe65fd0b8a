"""What commands say to who runs them, and how they are interrupted."""

import os
import signal
import sys
import threading
from contextlib import suppress


def tell(text):
    """Say something to who runs this; where nobody can hear it, the exit status does."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def say(text):
    """Print something, or tell it where nobody reads that."""
    try:
        print(text, flush=True)
    except OSError:
        tell(text)


def interrupt_on(*signals):
    """Treat signals that would end the process at once as an interrupt, unless it ignores them."""
    for number in signals:
        is_free = signal.getsignal(number) is signal.SIG_DFL
        if is_free and threading.current_thread() is threading.main_thread():
            signal.signal(number, signal.default_int_handler)


def flush(stream):
    """Flush a stream; what cannot be written is dropped, as Python would change the exit status."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
