"""A bare Debian that boots in a container, and terminals in it."""

import pathlib
import subprocess

from sealpost_e2e import chromium, debian, processes

# A terminal's marks after a script and after a failed command, as background jobs keep its output open.
DONE, FAILED = "\x1edone\n", "\x1efailed\n"


class Machine:
    """A freshly installed Debian, booted by systemd in its own network, where all ports are free."""

    def __init__(self, folder, packages=(), mounted=()):
        self.folder, self.root = folder, folder / "root"
        debian.make_root(self.root, "systemd-sysv", "dbus", *packages)
        # The person at the terminal answers yes to apt-get.
        (self.root / "etc/apt/apt.conf.d/90yes").write_text('APT::Get::Assume-Yes "true";\n')
        command = ["systemd-nspawn", "--register=no", "--keep-unit", "--private-network", "--boot", f"--directory={self.root}"]
        with open(folder / "boot.log", "w") as log:
            self.container = subprocess.Popen(
                [*command, *(f"--bind-ro={path}" for path in mounted)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            processes.wait_until(self.has_booted, 60, "the container's boot", self.container, pause=0.5)
            # The installer leaves the archives' lists, too.
            processes.run(*self.entered("apt-get", "update", has_archives=True), env=debian.environment())
        except SystemExit:
            print((folder / "boot.log").read_text()[-2000:])
            self.close()
            raise

    def has_booted(self):
        state = self.leader() and subprocess.run(self.entered("systemctl", "is-system-running"), capture_output=True, text=True)
        return state and state.stdout.strip() in ("running", "degraded")

    def leader(self):
        """The process id of the container's init on the host; `None` before it exists."""
        children = processes.children(self.container.pid)
        return next((child for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "systemd\n"), None)

    def entered(self, *command, has_archives=False):
        """The command in the container, as root; optionally in this machine's network for the archives."""
        namespaces = ["--mount", "--uts", "--ipc", "--pid", *([] if has_archives else ["--net"])]
        return ["nsenter", f"--target={self.leader()}", *namespaces, "--root", "--wdns=/root", *map(str, command)]

    def browser(self):
        """This machine's Chromium, in the container's network."""
        program = self.folder / "browser"
        program.write_text(f'#!/bin/sh\nexec nsenter --target={self.leader()} --net chromium "$@"\n')
        program.chmod(0o755)
        return chromium.Chromium(str(program))

    def close(self):
        """Switches it off."""
        try:
            subprocess.run(self.entered("systemctl", "poweroff", "--force", "--force"), capture_output=True, timeout=10)
            self.container.wait(timeout=30)
        except subprocess.TimeoutExpired:
            processes.kill(self.container)


class Terminal:
    """A shell of root's, which keeps its variables and jobs between scripts."""

    def __init__(self, machine, has_archives=False, **environment):
        self.machine, self.script = machine, machine.root / f"root/pasted-{has_archives}"
        self.shell = subprocess.Popen(
            machine.entered("bash", has_archives=has_archives), env=debian.environment() | environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def run(self, script):
        """Runs a script. Returns its output; ends the program at the first failing command."""
        self.script.write_text(f"set -e\ntrap 'printf \\\\036failed\\\\n' EXIT\n{script}\n")
        self.shell.stdin.write(f"source /root/{self.script.name} </dev/null; printf '\\036done\\n'\n")
        self.shell.stdin.flush()
        output = ""
        for line in self.shell.stdout:
            output += line
            if output.endswith(DONE):
                return output.removesuffix(DONE)
            if output.endswith(FAILED):
                break
        raise SystemExit(f"FAILED: a command of\n{script}\n{output.removesuffix(FAILED)[-3000:]}")
