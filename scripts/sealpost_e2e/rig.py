"""A daemon on an inherited socket, and a proxy in front of it."""

import contextlib
import os
import pathlib
import socket
import sqlite3
import subprocess
import tempfile
import time

from sealpost_e2e import api, processes, tls

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts/sealpost_e2e"  # The folder of the C sources.
ROLES = ("DEVICE", "PUBLISHER", "ADMIN")  # A single user makes the requests of thousands.
# The lines of proxies that listen.
NOTICES = {"nginx": "epoll", "haproxy": "Loading success", "varnish": "Listening", "squid": "Accepting", "wire": "Listening"}
QUOTAS = {
    **{f"QUOTAS_{role}_REQUESTS": 100_000_000 for role in ROLES},
    **{f"QUOTAS_{role}_CHANGES": "null" for role in ROLES},
    **{f"STORAGE_{role}": "null" for role in ROLES},
}


class Rig(contextlib.AbstractContextManager):
    """A folder with a database and the user alice, and a socket for all daemons. `quotas={}` keeps their defaults."""

    def __init__(self, sealpost, role="device", quotas=QUOTAS, **settings):
        self.sealpost = str(pathlib.Path(sealpost).resolve())
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-")
        self.folder = pathlib.Path(self.holder.name)
        settings = quotas | settings
        # The options of a thread sanitizer, if the daemon is built with it.
        kept = {name: os.environ[name] for name in ("PATH", "TSAN_OPTIONS") if name in os.environ}
        self.environment = kept | {f"SEALPOST_{k}": str(v) for k, v in settings.items()}
        self.processes, self.context = [], None
        self.configuration = self.folder / "sealpost.yaml"  # Named to daemons once it exists.
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.add_user("alice", role)

    def __exit__(self, *_):
        """Ends all started processes in any case."""
        for process in self.processes:
            processes.kill(process)
        self.holder.cleanup()

    def add_user(self, name, role="device", password=api.PASSWORD):
        """Creates a user. No daemon may run."""
        self.call("user", "add", name, "--role", role, "--password-stdin", input=password)

    def call(self, *arguments, **options):
        """Runs a command of sealpost. Returns its output; ends the program if it fails."""
        return processes.run(self.sealpost, *arguments, cwd=self.folder, env=self.environment, **options)

    def serve(self):
        """Starts a daemon by socket activation and waits until it serves. Returns the process and the seconds."""
        start = time.monotonic()
        process = self.start_daemon()
        processes.wait_for_line(process, "serving")
        return process, time.monotonic() - start

    def start_daemon(self, **options):
        """Starts a daemon by socket activation."""
        arguments = ["--config", str(self.configuration)] if self.configuration.exists() else []
        # bash makes the socket descriptor 3 and becomes the daemon; other shells know only one-digit numbers.
        command = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve "$@" 3<&{self.socket.fileno()}'
        return self.start(
            ["/bin/bash", "-c", command, self.sealpost, *arguments],
            cwd=self.folder, env=self.environment, pass_fds=[self.socket.fileno()], **options,
        )

    def proxy(self, kind, port, upstream=None, folder=None, files=(), how=""):
        """Starts a proxy at a port, in front of the daemon or `upstream`, and waits until it listens."""
        places = [f"127.0.0.1:{port}", f"127.0.0.1:{upstream or self.port}", folder or self.folder]
        process = self.start([ROOT / "scripts/proxy", kind, *places, *files], env=os.environ | {"HOW": how})
        processes.wait_for_line(process, NOTICES[kind])
        return process

    def connect(self):
        return api.connect(self.port, context=self.context)

    def ask(self, method, path, body=None, **options):
        """Sends a request on a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            return api.ask(connection, method, path, body, **options)

    def post(self, order, **options):
        """Posts a payload, or a whole order. Returns its id."""
        return self.ask("POST", "/api/notifications", order, **options)["Id"]

    def read(self, query, *arguments):
        """The first value of a query of the database, beside a running daemon."""
        with contextlib.closing(sqlite3.connect(self.folder / "var/sealpost.db", timeout=60)) as database:
            return database.execute(query, arguments).fetchone()[0]

    def listen_itself(self, has_tls):
        """Lets the daemon listen at the port, as an inherited socket would keep listening after its end."""
        self.socket.close()
        self.environment["SEALPOST_SERVER_LISTEN"] = f"127.0.0.1:{self.port}"
        if has_tls:
            self.use_tls()

    def use_tls(self):
        """Gives the daemon a certificate. Returns it and its key."""
        certificate, key = tls.make_certificate(self.folder)
        self.environment |= {"SEALPOST_SERVER_TLS_CERTIFICATE": str(certificate), "SEALPOST_SERVER_TLS_PRIVATEKEY": str(key)}
        self.context = tls.trusting()
        return certificate, key

    def start(self, command, **options):
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | options
        process = subprocess.Popen(command, text=True, **options)
        self.processes = [other for other in self.processes if other.poll() is None] + [process]
        return process
