"""The Python environments of `make e2e-packages`, with third-party tools, and of the tests."""

import os
import pathlib
import sys

from sealpost_e2e import require


def enter(name=".venv-e2e"):
    """Restarts the program in an environment; to be called before importing anything of it."""
    environment = pathlib.Path(__file__).resolve().parents[2] / name
    if pathlib.Path(sys.prefix) == environment:
        return
    python = environment / "bin/python"
    require(python.exists(), "make e2e-packages has not been run")
    os.execv(python, [python, *sys.argv])
