"""The Python environment of `make e2e-packages`, with third-party tools."""

import os
import pathlib
import sys

from sealpost_e2e import require

ENVIRONMENT = pathlib.Path(__file__).resolve().parents[2] / ".venv-e2e"


def enter():
    """Restarts the program in that environment; to be called before importing anything of it."""
    if pathlib.Path(sys.prefix) == ENVIRONMENT:
        return
    python = ENVIRONMENT / "bin/python"
    require(python.exists(), "make e2e-packages has not been run")
    os.execv(python, [python, *sys.argv])
