"""Builds the Dockerfile's image without Docker, and runs it as the pods of examples/kubernetes, without a cluster.

Podman builds the unchanged Dockerfile on two base images of this program, as registries are out of reach: a Debian of mmdebstrap,
and one with a `swift` that only copies the tested executable. The strict schemas of two versions of Kubernetes must accept the
manifests, except the PodMonitor. Podman runs one pod of SQLite and three of PostgreSQL as their templates and the kubelet would. A
payload must be fetched after a pod was replaced, and the health check must fail while a server is stopped. The API server, limits,
network policies and a shared network file system remain untested. It runs as root.
"""

from sealpost_e2e import environment, require

environment.enter()

import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import kubernetes_validate
import yaml

from sealpost_e2e import api, debian, postgresql, processes, rig

BASE, TOOLCHAIN, IMAGE = "debian:bookworm-slim", "swift:6.3-bookworm", "localhost/sealpost"
VERSIONS = "1.27", "1.37"
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
    files = {path.stem: list(yaml.safe_load_all(path.read_text())) for path in rig.ROOT.glob("examples/kubernetes/*.yaml")}
    validate([document for documents in files.values() for document in documents if document["kind"] != "PodMonitor"])
    with tempfile.TemporaryDirectory(prefix="sealpost-image-") as name, postgresql.Cluster(processes.free_port()) as cluster:
        podman = Podman(folder := pathlib.Path(name))
        try:
            build(podman, program, folder)
            run_alone(podman, program)
            live([pod := Pod(podman, files["sqlite"], 0, folder)])
            require_unhealthy_while_stopped(pod)
            pod.stop()
            live(pods := [Pod(podman, files["postgresql"], number, folder, DATABASE=cluster.url) for number in range(3)])
            if (holders := cluster.query("select count(*) from day_key_holder")) != [["3"]]:
                raise SystemExit(f"three pods, of which one was replaced, have left {holders} holders of day keys")
            for pod in pods:
                pod.stop()
        finally:
            podman.close()


def validate(documents):
    for document in documents:
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
    print(f"{len(documents)} documents are valid for Kubernetes {' and '.join(VERSIONS)}")


class Podman:
    """Podman with its own folder and no registry: an image's name means one that was made here."""

    def __init__(self, folder):
        (folder / "registries.conf").touch()
        (folder / "containers.conf").write_text('[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n')
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self.environment = debian.environment() | {
            "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"), "CONTAINERS_CONF": str(folder / "containers.conf"),
            "TMPDIR": str(folder), "HOME": str(folder),
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

    def close(self):
        """Ends all containers, so that the folder can be removed."""
        subprocess.run([*self.command, "rm", "--force", "--all", "--time", "1"], env=self.environment, capture_output=True)


def build(podman, program, folder):
    begin = time.monotonic()
    debian.make_root(folder / "base")
    archive = folder / "base.tar"
    processes.run("tar", "--create", "--file", archive, "--directory", folder / "base", "--one-file-system", ".")
    podman.run("import", archive, BASE)
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
    podman.run(*options, "--tag", TOOLCHAIN, toolchain)
    podman.run(*options, "--build-arg", f"COMMIT={commit}", "--tag", IMAGE, rig.ROOT)
    image = json.loads(podman.run("image", "inspect", IMAGE))[0]
    base = json.loads(podman.run("image", "inspect", BASE))[0]
    print(f"built in {time.monotonic() - begin:.0f} s: {image['Size'] - base['Size'] >> 20} MiB beyond a Debian", flush=True)


def run_alone(podman, program):
    """Runs the image without a pod: its version is the program's, and its user may write to a new volume."""
    require(podman.run("run", "--rm", IMAGE, "--version") == processes.run(program, "--version"), "the image has another version")
    podman.run("run", "--rm", "--read-only", "--volume", "new:/var/lib/sealpost", IMAGE, "user", "add", "alice", "--no-password")


class Pod:
    """The pod of a StatefulSet with this number; all pods with such documents share their claims."""

    def __init__(self, podman, documents, number, folder, **settings):
        objects = {document["kind"]: document for document in documents}
        self.podman, self.folder, self.claims = podman, folder, folder / f"claims-of-{len(settings)}"
        self.spec = objects["StatefulSet"]["spec"]["template"]["spec"]
        [self.container] = self.spec["containers"]
        self.configuration = objects["ConfigMap"]["data"]
        self.name, self.port = f"sealpost-{number}", processes.free_port()
        self.settings = settings | {"SERVER_LISTEN": f"127.0.0.1:{self.port}"}

    def start(self):
        """Starts the container, and waits until its probes succeed."""
        user, rights = self.spec["securityContext"], self.container["securityContext"]
        words = ["--network", "host", "--uts", "private", "--hostname", self.name]
        words += ["--user", f"{user['runAsUser']}:{user['runAsGroup']}", "--group-add", user["fsGroup"], "--read-only-tmpfs=false"]
        words += [f"--read-only={rights['readOnlyRootFilesystem']}", f"--cap-drop={','.join(rights['capabilities']['drop'])}"]
        words += ["--security-opt", f"no-new-privileges:{not rights['allowPrivilegeEscalation']}".lower()]
        words += [f"--env=SEALPOST_{name}={value}" for name, value in self.settings.items()]
        for mount in self.container["volumeMounts"]:
            access = "ro" if mount.get("readOnly") else "rw"
            words += ["--volume", f"{self.volume(mount['name'], access)}:{mount['mountPath']}:{access}"]
        self.podman.run("run", "--detach", "--name", self.name, *words, IMAGE)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            processes.wait_until(lambda: self.passes(self.container[probe]["httpGet"]), 60, f"{self.name}'s {probe}", pause=0.2)
        status = pathlib.Path(f"/proc/{self.state()['Pid']}/status").read_text()
        fields = dict(re.findall(r"(?m)^(\w+):\s*(.*)$", status))
        if set(fields["Uid"].split() + fields["Gid"].split()) != {"65532"} or int(fields["CapEff"], 16) or fields["NoNewPrivs"] != "1":
            raise SystemExit(f"{self.name} runs as {fields['Uid']}, {fields['Gid']}, with the rights {fields['CapEff']}")
        if written := [path for path in ("/etc/x", "/tmp/x", "/etc/sealpost/x") if not self.podman.code("exec", self.name, "touch", path)]:
            raise SystemExit(f"{written} were written")

    def volume(self, name, access):
        """The folder of a volume, with what the kubelet changes for `fsGroup`."""
        source = next((volume for volume in self.spec["volumes"] if volume["name"] == name), {"persistentVolumeClaim": {}})
        path = self.claims / name if "persistentVolumeClaim" in source else pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777 if "emptyDir" in source else 0o755)
        files = {"configMap": self.configuration, "secret": {"database-password": "secret"}}
        for file, text in next((files[kind] for kind in files if kind in source), {}).items():
            (path / file).write_text(text)
            (path / file).chmod(source.get("secret", {}).get("defaultMode", 0o644))
        for file in (path, *path.rglob("*")):
            os.chown(file, -1, self.spec["securityContext"]["fsGroup"])
            mode = (0o660 if access == "rw" else 0o440) | (stat.S_ISGID | 0o110 if file.is_dir() else 0)
            file.chmod(stat.S_IMODE(file.stat().st_mode) | mode)
        return path

    def passes(self, probe):
        """Whether the server answers a probe as the kubelet sends it, to the pod's address."""
        [port] = [port["containerPort"] for port in self.container["ports"] if port["name"] == probe["port"]]
        try:
            return api.status(api.connect(self.port, timeout=1), probe["path"], Host=f"10.1.2.3:{port}") == 200
        except OSError:
            return False

    def state(self):
        return json.loads(self.podman.run("container", "inspect", self.name))[0]["State"]

    def execute(self, *command, **options):
        return self.podman.run("exec", "--interactive", self.name, *command, **options)

    def stop(self):
        """Ends the pod as its deletion does."""
        if hooks := self.container.get("lifecycle"):
            self.execute(*hooks["preStop"]["exec"]["command"])
        self.podman.run("stop", "--time", self.spec["terminationGracePeriodSeconds"], self.name)
        require((code := self.state()["ExitCode"]) == 0, f"SIGTERM has ended {self.name} with {code}")
        self.podman.run("rm", self.name)


def live(pods):
    """Starts the pods in order, posts, replaces the last one, and fetches from all."""
    for pod in pods:
        pod.start()
    pods[0].execute("sealpost", "user", "add", "alice", "--password-stdin", input=api.PASSWORD + "\n")
    id = api.post(api.connect(pods[-1].port), {"Payload": PAYLOAD})
    pods[-1].stop()
    pods[-1].start()
    for pod in pods:
        require((payload := api.fetch(api.connect(pod.port), id)) == PAYLOAD, f"the payload is {payload!r}")
        pod.execute("sealpost", "doctor")
    print(f"{len(pods)} pods: the probes succeed, and the payload was fetched from each after one was replaced")


def require_unhealthy_while_stopped(pod):
    def is_healthy():
        return pod.podman.code("healthcheck", "run", pod.name) == 0

    processes.wait_until(is_healthy, 30, "the health check's content", pause=0.2)
    os.kill(pid := pod.state()["Pid"], signal.SIGSTOP)
    try:
        require(not is_healthy(), "the health check is content with a server that is stopped")
    finally:
        os.kill(pid, signal.SIGCONT)
    processes.wait_until(is_healthy, 30, "the health check's content", pause=0.2)
    print("the health check fails while the server is stopped, and not after")
