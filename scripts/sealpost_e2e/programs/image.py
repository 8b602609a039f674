"""Builds the Dockerfile's image without Docker, and runs it as its users do: as nobody, on a read-only file system.

Podman builds the unchanged Dockerfile. This program makes its two base images, as registries are out of reach: debian:bookworm-slim
by mmdebstrap, and swift:6.3-bookworm with a `swift` that only copies the tested executable to the compiler's output. So the real
compiler's image and Docker's own builder remain untested.

The image runs with a read-only root and only loopback: with its Dockerfile's user, volume, command and health check. The program
makes a user, and posts and fetches a payload. The health check must fail while the server is stopped, and another container must
serve the payload again. It runs as root.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from sealpost_e2e import debian, processes, rig
from sealpost_e2e.api import PASSWORD

BASE, TOOLCHAIN, IMAGE, NAME = "debian:bookworm-slim", "swift:6.3-bookworm", "localhost/sealpost", "sealpost"
PAYLOAD = "Your test result is in."
# Replaces the compiler: checks for the arguments of `make release`, and that the program contains the commit.
SWIFT = """#!/bin/sh
case "$*" in
"build --configuration release --static-swift-stdlib "*'"commit":"%s"'*" --product sealpost") ;;
*) echo "swift was called with $*" >&2; exit 64 ;;
esac
test -f Package.swift && test -d Sources/sealpost && test -d Migrations && install -D /program .build/release/sealpost
"""


def run(options):
    processes.begin_as_root()
    program = pathlib.Path(options.sealpost).resolve()
    with tempfile.TemporaryDirectory(prefix="sealpost-image-") as folder:
        podman = Podman(pathlib.Path(folder))
        try:
            build(podman, program, pathlib.Path(folder))
            live(podman, program)
        finally:
            podman.close()


class Podman:
    """Podman with its own folder; an image's name without a registry means Docker's, as with Docker."""

    def __init__(self, folder):
        (folder / "registries.conf").write_text('unqualified-search-registries = ["docker.io"]\n')
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self.environment = debian.environment() | {
            "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"), "TMPDIR": str(folder), "HOME": str(folder),
        }
        (folder / ".config/containers").mkdir(parents=True)
        shutil.copy(folder / "policy.json", folder / ".config/containers/policy.json")
        self.command = ["podman", "--runtime", "runc", "--storage-driver", "vfs", "--root", str(folder / "store"), "--runroot",
            str(folder / "run"), "--cgroup-manager", "cgroupfs", "--events-backend", "file"]

    def run(self, *command, **options):
        return processes.run(*self.command, *command, env=self.environment, timeout=debian.TIMEOUT, **options)

    def code(self, *command):
        """The exit code of a command that may fail."""
        done = subprocess.run([*self.command, *command], env=self.environment, timeout=60, capture_output=True)
        return done.returncode

    def state(self):
        return json.loads(self.run("container", "inspect", NAME))[0]["State"]

    def close(self):
        """Ends all containers, so that the folder can be removed."""
        subprocess.run([*self.command, "rm", "--force", "--all", "--time", "1"], env=self.environment, capture_output=True)


def build(podman, program, folder):
    begin = time.monotonic()
    debian.make_root(folder / "base")
    archive = folder / "base.tar"
    processes.run("tar", "--create", "--file", archive, "--directory", folder / "base", "--one-file-system", ".")
    podman.run("import", archive, f"docker.io/library/{BASE}")
    toolchain, commit = folder / "toolchain", "0123456789ab"
    toolchain.mkdir()
    (toolchain / "swift").write_text(SWIFT % commit)
    (toolchain / "swift").chmod(0o755)
    shutil.copy(program, toolchain / "program")
    (toolchain / "Dockerfile").write_text(
        f"FROM {BASE}\nRUN apt-get update && apt-get install --yes --no-install-recommends binutils\n"
        "COPY swift /usr/bin/swift\nCOPY program /program\n"
    )
    options = ["build", "--isolation", "chroot", "--network", "host", "--layers=false", "--pull=never", "--format", "docker"]
    podman.run(*options, "--tag", f"docker.io/library/{TOOLCHAIN}", toolchain)
    podman.run(*options, "--build-arg", f"COMMIT={commit}", "--tag", IMAGE, rig.ROOT)
    image = json.loads(podman.run("image", "inspect", IMAGE))[0]
    base = json.loads(podman.run("image", "inspect", BASE))[0]
    print(f"built in {time.monotonic() - begin:.0f} s: {image['Size'] - base['Size'] >> 20} MiB beyond a Debian", flush=True)


def live(podman, program):
    start(podman)
    require_rights(podman)
    version = podman.run("exec", NAME, "sealpost", "--version")
    if version != processes.run(program, "--version"):
        raise SystemExit(f"the image has {version}")
    if "/console/#/setup/" not in podman.run("logs", NAME, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, capture_output=False):
        raise SystemExit("the server has not printed a link to the console")
    podman.run("exec", "--interactive", NAME, "sealpost", "user", "add", "alice", "--password-stdin", input=PASSWORD + "\n")
    device = json.loads(curl(podman, "/api/register", "--request", "POST"))
    curl(podman, f"/api/register/{device}", "--request", "PUT", "--data", '{"Platform": "stream"}')
    id = json.loads(curl(podman, "/api/notifications", "--data", json.dumps({"Payload": PAYLOAD})))["Id"]
    require_fetched(podman, id)
    print("as its own user, on a read-only root: healthy, and a payload was posted and fetched")
    require_unhealthy_while_stopped(podman)
    podman.run("stop", "--time", "20", NAME)
    if (code := podman.state()["ExitCode"]) != 0:
        raise SystemExit(f"SIGTERM has ended it with {code}")
    podman.run("rm", NAME)
    start(podman)
    require_fetched(podman, id)
    print("ended by SIGTERM with 0; another container with the volume has the payload")


def start(podman):
    """Starts the image's command, and waits for a successful health check."""
    volume = ["--volume", "sealpost:/var/lib/sealpost"]
    limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]
    strict = ["--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
    podman.run("run", "--detach", "--name", NAME, "--network", "none", *strict, *volume, *limits, IMAGE)
    processes.wait_until(lambda: podman.code("healthcheck", "run", NAME) == 0, 30, "the health check's content", pause=0.2)


def require_rights(podman):
    """The server runs as nobody, and may write only into its volume."""
    status = pathlib.Path(f"/proc/{podman.state()['Pid']}/status").read_text()
    fields = dict(re.findall(r"(?m)^(\w+):\s*(.*)$", status))
    if set(fields["Uid"].split() + fields["Gid"].split()) != {"65532"} or int(fields["CapEff"], 16):
        raise SystemExit(f"it runs as {fields['Uid']}, {fields['Gid']}, with the rights {fields['CapEff']}")
    for path in ("/etc/x", "/tmp/x", "/usr/local/bin/x"):
        if podman.code("exec", NAME, "touch", path) == 0:
            raise SystemExit(f"{path} was written")
    if podman.code("exec", NAME, "touch", "/var/lib/sealpost/x"):
        raise SystemExit("the volume is not writable")


def require_unhealthy_while_stopped(podman):
    pid = podman.state()["Pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        if podman.code("healthcheck", "run", NAME) == 0:
            raise SystemExit("the health check is content with a server that is stopped")
    finally:
        os.kill(pid, signal.SIGCONT)
    processes.wait_until(lambda: podman.code("healthcheck", "run", NAME) == 0, 30, "the health check's content", pause=0.2)
    print("the health check fails while the server is stopped, and not after")


def curl(podman, path, *options):
    """A request inside the container's network, by this machine's curl."""
    return processes.run(
        "nsenter", "--net", "--target", podman.state()["Pid"], "curl", "--silent", "--fail-with-body", "--max-time", 30,
        "--user", f"alice:{PASSWORD}", *options, f"http://127.0.0.1:8080{path}",
    )


def require_fetched(podman, id):
    if (payload := json.loads(curl(podman, f"/api/notifications/{id}"))["Payload"]) != PAYLOAD:
        raise SystemExit(f"the payload is {payload!r}")
