"""Goes on in the Python environment that `make e2e-packages` has made; to be imported before anything that is only there."""

import os
import pathlib
import sys

ENVIRONMENT = pathlib.Path(__file__).resolve().parents[2] / ".venv-e2e"


def enter():
    if pathlib.Path(sys.prefix) == ENVIRONMENT:
        return
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        raise SystemExit("make e2e-packages has not been run")
    os.execv(python, [python, *sys.argv])


enter()
