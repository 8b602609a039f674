"""A PostgreSQL of its own on a unix socket, with all of its safety on, which ends with the program."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from sealpost_e2e import processes

NAME = "sealpost"


class Cluster:
    """A server with one empty database, for as long as the `with` lasts."""

    def __init__(self, **settings):
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-pg-")
        self.folder = pathlib.Path(self.holder.name)
        self.settings = {"listen_addresses": "", "max_connections": 200, "unix_socket_directories": self.folder} | settings
        self.server = None

    def __enter__(self):
        # The server refuses to run as root.
        shutil.chown(self.folder, *(("postgres", "postgres") if os.getuid() == 0 else (os.getuid(), os.getgid())))
        self.folder.chmod(0o755)
        processes.run(*self.command("initdb"), "-D", self.folder / "data", "-A", "trust", "-U", "sealpost", "-E", "UTF8", "--locale=C")
        self.start()
        self.query(f"create database {NAME}", database="postgres")
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGINT)
        self.holder.cleanup()

    @property
    def url(self):
        """The address, as it stands in the configuration."""
        return f"postgres://sealpost@/{NAME}?host={self.folder}"

    def start(self):
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "a") as log:
            self.server = subprocess.Popen(
                [*map(str, self.command("postgres")), "-D", str(self.folder / "data"), *settings], stdout=log, stderr=log,
                # Readable for the server's user, whatever the program's own folder is.
                cwd=self.folder,
            )
        processes.wait_until(self.is_ready, 60, "the database", self.server, pause=0.05)

    def stop(self, how):
        """Sends the server a signal, and waits for its end."""
        if self.server and self.server.poll() is None:
            self.server.send_signal(how)
            self.server.wait(timeout=60)

    def kill(self):
        """Kills the server and all its backends, as a power cut would, but for the disk."""
        self.stop(signal.SIGKILL)
        # Backends notice that their parent is gone; the next server waits for the last of them.
        pid = self.folder / "data/postmaster.pid"
        pid.unlink(missing_ok=True)

    def is_ready(self):
        done = subprocess.run(
            ["psql", "-h", str(self.folder), "-U", "sealpost", "-Atc", "select 1", "postgres"], capture_output=True
        )
        return done.returncode == 0

    def query(self, sql, database=NAME):
        """The rows that a statement returns, as lists of texts."""
        text = processes.run(
            "psql", "-h", self.folder, "-U", "sealpost", "-v", "ON_ERROR_STOP=1", "-AtF", "\t", "-c", sql, database
        )
        return [line.split("\t") for line in text.splitlines()]

    def command(self, name):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        path = str(found[-1]) if found else shutil.which(name)
        if not path:
            raise SystemExit(f"{name} is missing: install Debian's package postgresql-15")
        step_down = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        return [*step_down, path]
