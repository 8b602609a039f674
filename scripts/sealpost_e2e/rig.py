"""What the end-to-end scripts share: a daemon on a socket that is held here, a proxy before it, and one request."""

import base64
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery"


def basic(name, password=PASSWORD):
    """The field of `Authorization` of a user."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


CREDENTIALS = basic("alice")
# One user makes the requests of thousands here.
ROLES = ("DEVICE", "PUBLISHER", "ADMIN")
QUOTAS = {f"QUOTAS_{role}_REQUESTS": 100_000_000 for role in ROLES} | {f"STORAGE_{role}": "null" for role in ROLES}


class Rig:
    """A folder with a database and the user alice, and a listening socket for one daemon after the other."""

    def __init__(self, sealpost, role="device", **settings):
        self.sealpost = str(pathlib.Path(sealpost).resolve())
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-")
        self.folder = pathlib.Path(self.holder.name)
        settings = QUOTAS | settings
        # What a thread sanitizer must be told, if the daemon is built with it.
        kept = {name: os.environ[name] for name in ("PATH", "TSAN_OPTIONS") if name in os.environ}
        self.environment = kept | {f"SEALPOST_{k}": str(v) for k, v in settings.items()}
        self.processes = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.add_user("alice", role)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Whatever has happened, nothing that was started goes on."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        self.holder.cleanup()

    def add_user(self, name, role="device"):
        """Makes a user with the password that all have. No daemon may run."""
        subprocess.run(
            [self.sealpost, "user", "add", name, "--role", role, "--password-stdin"],
            input=PASSWORD.encode(), cwd=self.folder, env=self.environment, check=True, stdout=subprocess.DEVNULL,
        )

    def serve(self):
        """Starts a daemon by socket activation and waits until it serves. The process, and the seconds that took."""
        start = time.monotonic()
        process = self.start_daemon()
        wait_for_line(process, "serving")
        return process, time.monotonic() - start

    def start_daemon(self, *arguments, **options):
        """Starts a daemon by socket activation; `arguments` are more of `serve`'s."""
        # The shell gives the socket the number 3, becomes the daemon and keeps its own number. It is bash because others
        # know numbers of one digit only.
        command = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve "$@" 3<&{self.socket.fileno()}'
        return self.start(
            ["/bin/bash", "-c", command, self.sealpost, *map(str, arguments)],
            cwd=self.folder, env=self.environment, pass_fds=[self.socket.fileno()], **options,
        )

    def proxy(self, kind):
        """Starts a proxy before the daemon. The process and its port."""
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        process = self.start(
            [ROOT / "scripts/proxy", kind, f"127.0.0.1:{port}", f"127.0.0.1:{self.port}", self.folder]
        )
        notices = {"nginx": "epoll", "haproxy": "Loading success", "varnish": "Listening", "squid": "Accepting"}
        wait_for_line(process, notices[kind])
        return process, port

    def start(self, command, **options):
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | options
        process = subprocess.Popen(command, text=True, **options)
        self.processes = [other for other in self.processes if other.poll() is None] + [process]
        return process


def wait_for_line(process, text):
    """Reads standard error up to the line that contains `text`; ends the script if that never comes."""
    read = []
    for line in process.stderr:
        read.append(line)
        if text in line:
            return line
    raise SystemExit(f"{process.args[0]} ended: {''.join(read)}")


def processor_time(process):
    """Seconds that a process's threads have run for, also those that have ended."""
    # The process's clock, as clock_getcpuclockid(3) makes its number.
    return time.clock_gettime(~process.pid << 3 | 2)


def terminate(process):
    """SIGTERM, the rest of what it says, and its exit code."""
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    return process.returncode, rest


def post(connection, text):
    """Posts a payload. Its id; raises if the answer is anything but 200."""
    answer = ask(connection, "POST", "/api/notifications", json.dumps(text))
    return answer["Id"]


def fetch(connection, id):
    """Fetches a payload; raises if the answer is anything but 200."""
    return ask(connection, "GET", f"/api/notifications/{id}")["Payload"]


def ask(connection, method, path, body=None):
    connection.request(method, path, body, {"Authorization": CREDENTIALS})
    response = connection.getresponse()
    text = response.read()
    if response.status not in (200, 201):
        raise http.client.HTTPException(f"{method} {path}: {response.status} {text[:200]}")
    return json.loads(text)
