"""The command `scripts/e2e`: lists the programs, and runs one."""

import argparse
import ast
import contextlib
import importlib
import pathlib
import sys

from sealpost_e2e.api import UnexpectedAnswer

FOLDER = pathlib.Path(__file__).parent
GROUPS = ("programs", "benches")
RESULTS = FOLDER.parents[1] / ".build-benchmarks/results"  # The folder for the benches' output, which `scripts/make-plots` reads.


def main():
    parser = argparse.ArgumentParser(prog="e2e", description="Runs one of the end-to-end programs or benches.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the programs, and what each does")
    run = commands.add_parser("run", help="run one; NAME --help has its options")
    run.add_argument("name", metavar="NAME")
    # The options behind the name belong to the program.
    options = parser.parse_args(sys.argv[1:3])
    modules = find_modules()
    if options.command == "list":
        for name, path in modules.items():
            print(f"{name:19}{ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]}")
    elif options.name in modules:
        run_program(options.name, modules[options.name], sys.argv[3:])
    else:
        parser.error(f"there is no program {options.name}; e2e list prints all")


def find_modules():
    """The file of each program, by name."""
    paths = [path for group in GROUPS for path in sorted((FOLDER / group).glob("*.py"))]
    return {path.stem.replace("_", "-"): path for path in paths}


def run_program(name, path, arguments):
    """Runs a program's `run(options)`; its `OPTIONS` may name options."""
    module = importlib.import_module(f"sealpost_e2e.{path.parent.name}.{path.stem}")
    parser = argparse.ArgumentParser(
        prog=f"e2e run {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sealpost", help="the executable")
    for name, option in getattr(module, "OPTIONS", {}).items():
        parser.add_argument(name, **settings(name, option))
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        if path.parent.name == "benches":
            RESULTS.mkdir(parents=True, exist_ok=True)
            record = stack.enter_context(open(RESULTS / f"{name}.txt", "w"))
            stack.enter_context(contextlib.redirect_stdout(Both(sys.stdout, record)))
        try:
            module.run(options)
        except UnexpectedAnswer as answer:
            raise SystemExit(str(answer)) from None


def settings(name, option):
    """The settings of an option from its default and help, or from its help alone: of a flag or a required word."""
    if isinstance(option, tuple):
        return {"type": type(option[0]), "default": option[0], "help": f"{option[1]} (%(default)s)"}
    return option if isinstance(option, dict) else {"help": option} | ({"action": "store_true"} if name.startswith("--") else {})


class Both:
    """A file that writes to two."""

    def __init__(self, *files):
        self.files = files

    def write(self, text):
        for file in self.files:
            file.write(text)

    def flush(self):
        for file in self.files:
            file.flush()
