"""What `scripts/e2e` does: it lists the programs, and runs one."""

import argparse
import ast
import importlib
import pathlib
import sys

from sealpost_e2e.api import UnexpectedAnswer

FOLDER = pathlib.Path(__file__).parent
GROUPS = ("programs", "benches")


def main():
    parser = argparse.ArgumentParser(prog="e2e", description="Runs one of the end-to-end programs or benches.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the programs, and what each does")
    run = commands.add_parser("run", help="run one; NAME --help has its options")
    run.add_argument("name", metavar="NAME")
    # What follows the name is the program's own.
    options = parser.parse_args(sys.argv[1:3])
    modules = find_modules()
    if options.command == "list":
        for name, path in modules.items():
            print(f"{name:16}{ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]}")
    elif options.name in modules:
        run_program(options.name, modules[options.name], sys.argv[3:])
    else:
        parser.error(f"there is no program {options.name}; e2e list prints all")


def find_modules():
    """The file of each program, by name."""
    paths = [path for group in GROUPS for path in sorted((FOLDER / group).glob("*.py"))]
    return {path.stem.replace("_", "-"): path for path in paths}


def run_program(name, path, arguments):
    """Runs a program: its module has `run(options)`, and `add_options(parser)` if it takes more than the executable."""
    module = importlib.import_module(f"sealpost_e2e.{path.parent.name}.{path.stem}")
    parser = argparse.ArgumentParser(
        prog=f"e2e run {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sealpost", help="the executable")
    if hasattr(module, "add_options"):
        module.add_options(parser)
    try:
        module.run(parser.parse_args(arguments))
    except UnexpectedAnswer as answer:
        raise SystemExit(str(answer)) from None
