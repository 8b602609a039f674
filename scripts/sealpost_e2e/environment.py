"""The Python environment that `make e2e-packages` has made, with the tools of others."""

import os
import pathlib
import sys

ENVIRONMENT = pathlib.Path(__file__).resolve().parents[2] / ".venv-e2e"


def enter():
    """Goes on in that environment; to be called before anything is imported that is only there."""
    if pathlib.Path(sys.prefix) == ENVIRONMENT:
        return
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        raise SystemExit("make e2e-packages has not been run")
    os.execv(python, [python, *sys.argv])
