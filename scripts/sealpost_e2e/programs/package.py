"""Installs, upgrades, removes and purges the Debian package in a fresh Debian; stored payloads must survive.

Two builds in different environments must have the same bytes. The daemon runs as its unit says, after README.md's commands. A
payload is fetched after the upgrade, a removal, and a purge without the answer to delete, each followed by an installation. The
configuration must survive the upgrade, and the keyring all but a purge with that answer, which must leave nothing. The upgrade must
restart the service and leave the socket alone. With --control the second version replaces the keyring; then the program must fail.
It runs as root.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import time

from sealpost_e2e import debian, processes, require, rig
from sealpost_e2e.api import PASSWORD

STATE = "var/lib/sealpost"
CONFIGURATION = "/etc/sealpost/sealpost.yaml"
PAYLOAD = "Your test result is in."
# Replaces systemctl where the upgrade believes that systemd runs, and records its arguments.
SYSTEMCTL = '#!/bin/sh\necho "$*" >>/systemctl.log\n'
OPTIONS = {"--control": "lose the keyring in the upgrade: the program must then fail"}


class Root:
    """A Debian in a folder, and its daemon."""

    def __init__(self, folder):
        self.path = folder / "root"
        self.daemon = None
        self.port = processes.free_port()
        debian.make_root(self.path)
        self.run("apt-get", "update")

    def run(self, *command, **options):
        """Runs a command as root. Returns its output."""
        return processes.run(*debian.CAGE, *self.entered(*command), timeout=debian.TIMEOUT, env=debian.environment(), **options)

    def entered(self, *command):
        """The command in the root, with a /proc for the process's life; it keeps its process id."""
        script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self.path), *map(str, command)]

    def install(self, package):
        shutil.copy(package, self.path / "root")
        self.run("apt-get", "install", "--yes", "--no-install-recommends", f"/root/{package.name}")

    def serve(self):
        """Starts the daemon as its unit does, but with an address instead of a socket, and waits until it serves."""
        unit = dict(re.findall(r"(?m)^(\w+)=(.+)$", self.text("lib/systemd/system/sealpost.service")))
        command = ["setpriv", f"--reuid={unit['User']}", f"--regid={unit['User']}", "--clear-groups",
            "env", f"--chdir={unit['WorkingDirectory']}", f"SEALPOST_SERVER_LISTEN=127.0.0.1:{self.port}",
            *unit["ExecStart"].split()]
        self.daemon = subprocess.Popen(
            self.entered(*command), env=debian.environment(), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            umask=int(unit["UMask"], 8),
        )
        processes.wait_for_line(self.daemon, "serving")

    def stop(self):
        code, rest = processes.terminate(self.daemon)
        self.daemon = None
        require(not code, f"the daemon ended with {code}: {rest}")

    def text(self, path):
        return (self.path / path).read_text()

    def digest(self, path):
        return hashlib.sha256((self.path / path).read_bytes()).hexdigest()

    def curl(self, path, *options, user="alice"):
        """An answer's status and body by curl."""
        answer = processes.run(
            "curl", "--silent", "--max-time", 30, "--user", f"{user}:{PASSWORD}", "--write-out", "\n%{http_code}", *options,
            f"http://127.0.0.1:{self.port}{path}",
        )
        body, status = answer.rsplit("\n", 1)
        return body, int(status)

    def close(self):
        """Ends the daemon in any case. The root runs no other process, as it has no init."""
        processes.kill(self.daemon)


def run(options):
    processes.begin_as_root()
    program = pathlib.Path(options.sealpost).resolve()
    with tempfile.TemporaryDirectory(prefix="sealpost-package-") as holder:
        folder = pathlib.Path(holder)
        # Other users than root must pass through it.
        folder.chmod(0o755)
        try:
            try_all(program, folder, options.control)
        except BaseException:
            # The killed namespace's processes must end before the removal of the folder.
            time.sleep(1)
            raise


def try_all(program, folder, is_control):
    version = processes.run(program, "--version").split()[0]
    old, new = (debian.build_package(program, folder / "packages", f"{version}+e2e{number}") for number in (1, 2))
    require_same_bytes(program, folder, old)
    if is_control:
        lose_keyring(folder, new)
    root = Root(folder)
    try:
        live(root, program, old, new)
    finally:
        root.close()


def require_same_bytes(program, folder, package):
    version = package.name.split("_")[1]
    elsewhere = ["unshare", "--uts", "sh", "-c", 'echo elsewhere >/proc/sys/kernel/hostname && exec "$@"', "sh"]
    other = debian.build_package(
        program, folder / "elsewhere", version, elsewhere,
        env=os.environ | {"TZ": "Pacific/Chatham", "LANG": "C", "USER": "somebody"}, umask=0o077,
    )
    require(other.read_bytes() == package.read_bytes(), "the package depends on where it is made")
    print(f"{package.name}: {package.stat().st_size >> 20} MiB, the same bytes when made elsewhere; lintian has no error")


def lose_keyring(folder, package):
    """Makes the package's installation replace the keyring."""
    content = folder / "content"
    processes.run("dpkg-deb", "--raw-extract", package, content)
    script = content / "DEBIAN/postinst"
    lost = f'set -e\n[ -z "$2" ] || head -c 32 /dev/urandom | base64 | sed "s/^/1 /" >/{STATE}/keyring\n'
    script.write_text(script.read_text().replace("set -e\n", lost, 1))
    processes.run("dpkg-deb", "--build", content, package)


def live(root, program, old, new):
    """The package's whole life."""
    root.install(old)
    require_version(root, program)
    require_installed(root)
    block = re.search(r"<!-- package -->\n```bash\n(.*?)```", (rig.ROOT / "README.md").read_text(), re.DOTALL)[1]
    lines = [line for line in block.splitlines() if "sealpost user add" in line]
    require(len(lines) == 2, "README.md does not make an administrator and a user")
    for line in lines:
        root.run("sh", "-c", f"cd /root && {line}")
    require_private(root, (f"{STATE}/keyring", 0o600), (f"{STATE}/sealpost.db", 0o600))
    root.serve()
    id = post(root)
    require_fetched(root, id, "the installation")
    root.stop()

    keyring = root.digest(f"{STATE}/keyring")
    with (root.path / CONFIGURATION[1:]).open("a") as configuration:
        configuration.write("# ours\n")
    upgrade(root, new)
    require("# ours" in root.text(CONFIGURATION[1:]), "the upgrade has replaced a configuration that was changed")
    revive(root, id, keyring, "the upgrade")

    for command, is_kept in (("remove", True), ("purge", False)):
        root.run("apt-get", command, "--yes", "sealpost")
        exist = [(root.path / path).exists() for path in ("usr/bin/sealpost", CONFIGURATION[1:])]
        require(exist == [False, is_kept], f"{command}: program and configuration exist: {exist}")
        root.install(new)
        revive(root, id, keyring, f"{command} and an installation")

    root.run("debconf-set-selections", input="sealpost sealpost/purge-data boolean true\n")
    root.run("apt-get", "purge", "--yes", "sealpost")
    require(not (root.path / STATE).exists(), "the purge has left data that was to be deleted")
    left = root.run("find", "/etc", "/usr", "/var", "/lib/systemd", "-name", "*sealpost*", "-not", "-path", "/var/cache/*")
    require(not left, f"the purge has left {left}")
    root.install(new)
    root.serve()
    require(root.digest(f"{STATE}/keyring") != keyring and root.curl(f"/api/notifications/{id}")[1] == 401, "what was purged is still there")
    root.stop()
    print("a purge that was told to deletes all: keys are new, and the user is unknown")


def require_version(root, program):
    """The installed program reports its commit: packaging has kept the note in it."""
    built, installed = processes.run(program, "--version"), root.run("sealpost", "--version")
    commit = re.search(r"\(commit ([0-9a-f]{12})(-dirty)?\)", installed)
    require(commit and installed == built, f"the installed program is {installed.strip()}, and was built as {built.strip()}")
    if subprocess.run(["git", "-C", rig.ROOT, "cat-file", "-e", commit[1]], capture_output=True).returncode:
        raise SystemExit(f"the repository has no commit {commit[1]}")
    print(f"installed: {installed.strip()}")


def require_installed(root):
    """The folder belongs to the service's user alone, and nothing was made in it or started."""
    require_private(root, (STATE, 0o700))
    require(not list((root.path / STATE).iterdir()), "the installation has made files of the server")
    require(CONFIGURATION in root.run("dpkg-query", "--show", "--showformat", "${Conffiles}", "sealpost"), "the configuration is no conffile")
    root.run("runuser", "-u", "sealpost", "--", "sealpost", "doctor", "--config", CONFIGURATION)
    root.run("bash", "-n", "/usr/share/bash-completion/completions/sealpost")
    for unit in ("multi-user.target.wants/sealpost.service", "sockets.target.wants/sealpost.socket"):
        require((root.path / "etc/systemd/system" / unit).is_symlink(), f"{unit} is not enabled")


def require_private(root, *files):
    """The files belong to the service's user alone."""
    uid = int(root.run("id", "--user", "sealpost"))
    for path, mode in files:
        found = (root.path / path).stat()
        if found.st_uid != uid or stat.S_IMODE(found.st_mode) != mode:
            raise SystemExit(f"{path} is of {found.st_uid} and has the mode {stat.S_IMODE(found.st_mode):o}")


def post(root):
    """Registers a device, and posts a payload to its user as the administrator. Returns the notification's id."""
    device = json.loads(root.curl("/api/register", "--request", "POST")[0])
    _, status = root.curl(f"/api/register/{device}", "--request", "PUT", "--data", '{"Platform": "stream"}')
    order = {"Payload": PAYLOAD, "To": ["username:alice"]}
    body, posted = root.curl("/api/notifications", "--data", json.dumps(order), user="boss")
    require((status, posted) == (200, 201), f"registering was answered with {status}, posting with {posted}: {body}")
    return json.loads(body)["Id"]


def require_fetched(root, id, what):
    body, status = root.curl(f"/api/notifications/{id}")
    require(status == 200 and json.loads(body)["Payload"] == PAYLOAD, f"after {what} the payload is not fetched: {status} {body}")
    print(f"fetched after {what}")


def revive(root, id, keyring, what):
    """Starts the daemon again, for one fetch."""
    require(root.digest(f"{STATE}/keyring") == keyring, f"{what} has changed the keyring")
    root.serve()
    require_fetched(root, id, what)
    root.stop()


def upgrade(root, package):
    """Upgrades under a seeming systemd: the package must restart the service once, and not touch the socket."""
    running, systemctl, log = (root.path / path for path in ("run/systemd/system", "usr/bin/systemctl", "systemctl.log"))
    running.mkdir(parents=True)
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)
    try:
        root.install(package)
        asked = log.read_text()
    finally:
        systemctl.unlink()
        running.rmdir()
    acts = [line for line in asked.splitlines() if re.search(r"\b(start|stop|restart|try-restart)\b", line)]
    require(len(acts) == 1 and re.search(r"\btry-restart sealpost\.service$", acts[0]), f"the upgrade has asked systemd for {acts}")
    if (version := package.name.split("_")[1]) != root.run("dpkg-query", "--show", "--showformat", "${Version}", "sealpost"):
        raise SystemExit(f"{version} is not installed")
    print(f"upgraded to {version}; systemd was asked for: {acts[0]}")
