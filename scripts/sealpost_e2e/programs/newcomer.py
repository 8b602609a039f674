"""Times a newcomer's steps of README.md on a bare Debian, from source and from the Debian package.

Each way has its own machine, booted by systemd in a container with its own network. The program pastes the README's commands, and
compares their output with the README's, up to an administrator's sign-in at the console in Chromium. It fails if the package's
way to the first payload takes more than 30 seconds. Its times exclude the boot, the packages that swift.org requires, and making
the Debian package. It mounts this machine's toolchain, and folders that git uses instead of hosts. It runs as root.
"""

import os
import pathlib
import re
import shutil
import tempfile
import time

from sealpost_e2e import api, debian, machine, processes, require, rig

PACKAGE_LIMIT = 30  # From `apt-get install` to the first payload, in seconds.
CONSOLE = "http://127.0.0.1:8080/console/"
# https://www.swift.org/install/linux/debian/12
TOOLCHAIN_PACKAGES = (
    "binutils-gold", "gcc", "git", "libcurl4-openssl-dev", "libedit-dev", "libncurses-dev", "libpython3-dev", "libsqlite3-dev",
    "libstdc++-12-dev", "libxml2-dev", "libz3-dev", "pkg-config", "tzdata", "unzip", "zlib1g-dev",
)
# Signs in by typing. Returns the page's text once it shows the overview.
SIGN_IN = """(async () => {
    const until = async condition => { while (!condition()) await new Promise(resolve => setTimeout(resolve, 20)) };
    await until(() => document.querySelector('input[type=password]'));
    const [name, password] = document.querySelectorAll('input');
    [name.value, password.value] = ['boss', '%s'];
    password.form.requestSubmit();
    await until(() => document.title.startsWith('Overview'));
    return document.body.innerText;
})()"""
OPTIONS = {"--only": {"choices": ("source", "package"), "help": "only one of the two ways"}}


def run(options):
    processes.begin_as_root("--preserve-env=PATH")
    ways = {"source": from_source, "package": from_package}
    for name, way in ways.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="sealpost-newcomer-") as folder:
                way(options, pathlib.Path(folder))


class Clock:
    """Prints the time of each step, and the total."""

    def __init__(self, title):
        print(f"{title}, {os.cpu_count()} processors", flush=True)
        self.all = 0

    def time(self, what, step, *arguments):
        begin = time.monotonic()
        result = step(*arguments)
        took = time.monotonic() - begin
        self.all += took
        print(f"{took:8.1f} s  {what}", flush=True)
        return result

    def reached(self, what, limit=None):
        print(f"{self.all:8.1f} s  in all: {what} (load of this machine: {os.getloadavg()[0]:.1f})", flush=True)
        require(not limit or self.all <= limit, f"FAILED: that should take at most {limit} s")


def from_source(options, folder):
    toolchain = pathlib.Path(shutil.which("swift")).resolve().parents[2]
    version = processes.run("swift", "--version").splitlines()[0]
    folders = git_folders()
    place = machine.Machine(folder, TOOLCHAIN_PACKAGES, [toolchain, *folders])
    try:
        for url, instead in folders.items():
            processes.run("git", "config", "--file", place.root / "root/.gitconfig", "--add", f"url.{url}.insteadOf", instead)
        mirrors = ", ".join(folders.values()) or "nothing"
        clock = Clock(f"From source: {version}, mounted from {toolchain}; git has a folder for {mirrors}")
        environment = {"PATH": f"{toolchain}/usr/bin:{debian.environment()['PATH']}"}
        outside, inside = (machine.Terminal(place, has_archives, **environment) for has_archives in (True, False))
        clock.time("the packages that are needed", outside.run, block("prerequisites"))
        clone = ("git", "clone", "--quiet", "--no-hardlinks", rig.ROOT, place.root / "root/sealpost")
        clock.time("git clone", processes.run, *clone)
        for terminal in (outside, inside):
            terminal.run("cd sealpost")
        clock.time("make demo", outside.run, block("not run: the demonstration"))
        clock.reached("the demonstration's phones have fetched their payloads")
        clock.time("make release", inside.run, block("not run: the build"))
        clock.time("a user, a server, a notification that is sent and collected", paste, inside, *steps("call() {"))
        clock.reached("the first payload was fetched with curl")
        clock.time("a backend's notification", paste, inside, *steps("user add clinic"))
        clock.time("an administrator", inside.run, block("run", "--role admin"))
        look_at_console(place, clock)
    finally:
        place.close()


def from_package(options, folder):
    program = pathlib.Path(options.sealpost).resolve()
    package = debian.build_package(program, folder / "packages", processes.run(program, "--version").split()[0])
    place = machine.Machine(folder)
    try:
        shutil.copytree(package.parent, place.root / "root/.build-deb")
        clock = Clock(f"From the package {package.name}")
        install, rest = block("package").split("\n", 1)
        clock.time(install, machine.Terminal(place, has_archives=True).run, install)
        terminal = machine.Terminal(place)
        for line in rest.splitlines():
            clock.time(line, terminal.run, line)
        # From the place where the README's two ways join.
        script, expected = steps("call() {")
        clock.time("a notification that is sent and collected", paste, terminal, script[script.index("call() {") :], expected[1:])
        clock.reached("the first payload was fetched with curl", PACKAGE_LIMIT)
        clock.time("a backend's notification", paste, terminal, *steps("user add clinic"))
        clock.time("a new data key, which the unit lets the server write", terminal.run, "sealpost keys rotate && sealpost keys reload")
        look_at_console(place, clock)
    finally:
        place.close()


def git_folders():
    """This machine's folders that git uses instead of hosts, and the hosts."""
    lines = processes.run("sh", "-c", "git config --get-regexp '^url[.]/.*[.]insteadof$' || true").splitlines()
    pairs = [line.removeprefix("url.").split(".insteadof ", 1) for line in lines]
    return {path: url for path, url in pairs if url.startswith("https:")}


def blocks():
    """The README's blocks of commands: the marker before each, its script, and its output."""
    form = r"<!-- ([^\n]*) -->\n```bash\n(.*?)```\n(?:\n```text\n(.*?)```)?"
    return re.findall(form, (rig.ROOT / "README.md").read_text(), re.DOTALL)


def block(marker, text=""):
    """The script of the one block with this marker that contains a text."""
    found = [script for name, script, _ in blocks() if name == marker and text in script]
    require(len(found) == 1, f"README.md has {len(found)} blocks of the kind {marker!r} with {text!r}")
    return found[0].strip("\n")


def steps(text):
    """The block of kind `run` that contains a text, and its output."""
    [[script, expected]] = [(script, expected) for name, script, expected in blocks() if name == "run" and text in script]
    return script, expected.splitlines()


def paste(terminal, script, expected):
    """Runs a block; its output must contain each line, in order, with anything for the dots."""
    output = terminal.run(script)
    form = ".*".join(re.escape(line).replace("…", ".*") for line in expected)
    require(re.search(form, output, re.DOTALL), f"FAILED: README.md promises\n{chr(10).join(expected)}\nand what is printed is\n{output}")


def look_at_console(place, clock):
    with place.browser() as browser:
        page = clock.time(f"{CONSOLE} in Chromium", browser.open, CONSOLE)
        text = clock.time("signing in as the administrator", page.evaluate, SIGN_IN % api.PASSWORD)
    require("Overview" in text, f"FAILED: the console shows {text[:500]}")
    clock.reached("the console shows its overview")
