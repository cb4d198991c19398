"""The command ``quasistep``, as a program of this package: ``python -m quasistep``."""

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command with the arguments of this program; returns its exit code."""
    # Ctrl-C ends the program, unless the command itself listens to it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(["quasistep", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
