"""A private PostgreSQL with all of its safety on, which ends with the program."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from sealpost_e2e import processes, require

NAME = "sealpost"


class Cluster:
    """A server with one empty database and a unix socket; with a port it listens on loopback, as on another machine."""

    def __init__(self, port=None, **settings):
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-pg-")
        self.folder = pathlib.Path(self.holder.name)
        self.port = port
        network = {"listen_addresses": "127.0.0.1", "port": port} if port else {"listen_addresses": ""}
        self.settings = network | {"max_connections": 200, "unix_socket_directories": self.folder} | settings
        self.server = None

    def __enter__(self):
        processes.give_to_server(self.folder)
        processes.run(*self.command("initdb"), "-D", self.folder / "data", "-A", "trust", "-U", "sealpost", "-E", "UTF8", "--locale=C")
        self.start()
        self.query(f"create database {NAME}", database="postgres")
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGINT)
        self.holder.cleanup()

    @property
    def url(self):
        """The address for the configuration."""
        if self.port:
            return f"postgres://sealpost@127.0.0.1:{self.port}/{NAME}?sslmode=disable"
        return f"postgres://sealpost@/{NAME}?host={self.folder}"

    @property
    def address(self):
        """The same as options of PostgreSQL's programs."""
        host = ["-h", "127.0.0.1", "-p", str(self.port)] if self.port else ["-h", str(self.folder)]
        return [*host, "-U", "sealpost"]

    def start(self):
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "a") as log:
            self.server = subprocess.Popen(
                [*map(str, self.command("postgres")), "-D", str(self.folder / "data"), *settings], stdout=log, stderr=log,
                # Readable for the server's user, even if the program's folder is not.
                cwd=self.folder,
            )
        processes.wait_until(self.is_ready, 60, "the database", self.server, pause=0.05)

    def stop(self, how):
        """Sends the server a signal, and waits for its end."""
        if self.server and self.server.poll() is None:
            self.server.send_signal(how)
            self.server.wait(timeout=60)

    def kill(self):
        """Kills the server and all its backends: a power cut that spares the disk."""
        self.stop(signal.SIGKILL)
        # Backends end when they notice their parent's end; the next server waits for the last of them.
        (self.folder / "data/postmaster.pid").unlink(missing_ok=True)

    def is_ready(self):
        return subprocess.run(["psql", *self.address, "-Atc", "select 1", "postgres"], capture_output=True).returncode == 0

    def query(self, sql, database=NAME):
        """The rows of a statement, as lists of texts."""
        text = processes.run("psql", *self.address, "-v", "ON_ERROR_STOP=1", "-AtF", "\t", "-c", sql, database)
        return [line.split("\t") for line in text.splitlines()]

    def run_script(self, sql, database=NAME):
        """Runs statements, each in its own transaction."""
        processes.run("psql", *self.address, "-v", "ON_ERROR_STOP=1", "-q", database, input=sql)

    def copy(self, name):
        """Makes another database with the same tables and rows."""
        dump = processes.run(*self.command("pg_dump"), *self.address, NAME, cwd=self.folder)
        self.query(f"create database {name}", database="postgres")
        self.run_script(dump, name)

    def command(self, name):
        return [*as_server_user(), find(name)]


class Standby(Cluster):
    """A replica of a cluster with asynchronous replication, during the `with`."""

    def __init__(self, primary):
        super().__init__(hot_standby="on")
        self.primary = primary

    def __enter__(self):
        processes.give_to_server(self.folder)
        command = [*self.command("pg_basebackup"), *self.primary.address, "-D", self.folder / "data", "-R", "-c", "fast"]
        processes.run(*command, cwd=self.folder)
        self.start()
        return self

    def freeze(self):
        """Stops receiving, and keeps the connection."""
        self.receiver = int(self.query("select pid from pg_stat_wal_receiver", "postgres")[0][0])
        os.kill(self.receiver, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.receiver, signal.SIGCONT)


class Session(contextlib.AbstractContextManager):
    """A session that stays open, for statements in quick succession."""

    def __init__(self, cluster):
        self.process = subprocess.Popen(
            ["psql", *cluster.address, "-v", "ON_ERROR_STOP=1", "-qAtF", "\t", NAME],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )

    def __exit__(self, *_):
        processes.kill(self.process)

    def query(self, sql):
        """The rows of a statement, as lists of texts."""
        self.process.stdin.write(f"{sql};\n\\echo end\n")
        rows = []
        for line in self.process.stdout:
            if line == "end\n":
                return rows
            rows.append(line.rstrip("\n").split("\t"))
        raise SystemExit("psql ended")


def find(name):
    """The path of one of PostgreSQL's programs, in its newest version."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else shutil.which(name)
    require(path, f"{name} is missing: install Debian's package postgresql-15")
    return path


def as_server_user():
    """The command prefix that switches to another user, as PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
