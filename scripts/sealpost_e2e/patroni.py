"""Three PostgreSQL servers with Patroni and one etcd on loopback: the primary may die or freeze."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

from sealpost_e2e import postgresql, processes, require, rig

# From `make e2e-packages`: Debian 12's Patroni 3.0.2 loses acknowledged commits when a frozen primary thaws.
PROGRAM = rig.ROOT / ".venv-failover/bin/patroni"
NAME = "sealpost"
SETTINGS = (rig.ROOT / "config/patroni.yaml").read_text()  # The configuration for operators.
TTL = int(re.search(r"ttl: (\d+)", SETTINGS)[1])  # Seconds until a silent primary loses its lease.
COUNT = 3


class Member:
    """One PostgreSQL and its Patroni."""

    def __init__(self, number):
        self.name = f"n{number}"
        self.port, self.rest_port = processes.free_port(), processes.free_port()
        self.patroni = None


class Patroni:
    """The servers with one empty database; with `is_safe`, a commit is answered only after a replica has it."""

    def __init__(self, is_safe=True):
        require(PROGRAM.exists(), "make e2e-packages has not been run")
        self.is_safe = is_safe
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-patroni-")
        self.folder = pathlib.Path(self.holder.name)
        self.etcd, self.etcd_port = None, processes.free_port()
        self.members = [Member(number) for number in range(1, COUNT + 1)]

    def __enter__(self):
        processes.give_to_server(self.folder)
        try:
            self.start_etcd()
            first, *others = self.members
            self.start(first)
            processes.wait_until(lambda: self.primary() is first, 60, "the first primary", first.patroni, pause=0.2)
            for member in others:
                self.start(member)
            self.wait_until_whole(120)
            self.query(f"create role {NAME} login", database="postgres", user="postgres")
            self.query(f"create database {NAME} owner {NAME}", database="postgres", user="postgres")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members:
            self.signal(member, signal.SIGKILL)
        processes.kill(self.etcd)
        self.holder.cleanup()

    @property
    def url(self):
        """The address for the configuration."""
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        return f"postgres://{NAME}@{hosts}/{NAME}?sslmode=disable"

    def primary(self):
        """The member that reports to be the primary, or `None`."""
        return next((member for member in self.members if self.says(member, "primary")), None)

    def replicas(self):
        primary = self.primary()
        return [member for member in self.members if member is not primary]

    def wait_until_whole(self, seconds):
        """Waits until both replicas have caught up, so that either may take over."""
        processes.wait_until(self.is_whole, seconds, "the whole cluster", pause=0.3)

    def is_whole(self):
        # A thawed member reports for a while to be the primary, and counts replicas that have left it.
        # A replica that Patroni does not count yet has no vote for the failover.
        primary = self.primary()
        counts = {"primary": 1, "replica": COUNT - 1} | ({"quorum": COUNT - 1} if self.is_safe else {})
        if primary is None or any(sum(self.says(member, what) for member in self.members) != count for what, count in counts.items()):
            return False
        query = "select count(*) from pg_stat_replication where state = 'streaming'"
        done = subprocess.run([*self.psql("postgres", "postgres", [primary]), query], capture_output=True, text=True)
        return done.returncode == 0 and int(done.stdout) == COUNT - 1

    def signal(self, member, number):
        """Sends a signal to Patroni and to all processes of its PostgreSQL."""
        # Parents first.
        if member.patroni:
            member.patroni.send_signal(number)
        self.signal_server(member, number)
        if number == signal.SIGKILL and member.patroni:
            member.patroni.wait()

    def signal_server(self, member, number):
        """Sends a signal to all processes of a member's PostgreSQL, but not to Patroni."""
        for pid in self.servers(member):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_receiver(self, member):
        """Kills a replica's receiving process, with everything that it has not written yet."""
        for pid in self.servers(member):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if b"walreceiver" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    def start(self, member):
        """Starts a member's Patroni, which starts its PostgreSQL and joins the cluster."""
        # Later files override earlier ones.
        path = self.folder / f"{member.name}.configuration"
        path.mkdir(exist_ok=True)
        (path / "1.yaml").write_text(SETTINGS)
        (path / "2.yaml").write_text(json.dumps(self.configuration(member)))
        with open(self.folder / f"{member.name}.log", "a") as log:
            member.patroni = subprocess.Popen(
                [*postgresql.as_server_user(), str(PROGRAM), str(path)], stdout=log, stderr=log, cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )

    def query(self, sql, database=NAME, user=NAME):
        """The rows of a repeatable statement on the primary, as lists of texts."""
        deadline = time.monotonic() + 60
        while True:
            try:
                text = processes.run(*self.psql(database, user, self.members), sql)
                return [line.split("\t") for line in text.splitlines()]
            except SystemExit:
                # A primary that was frozen accepts a connection, and closes it when it learns of its demotion.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def psql(self, database, user, members):
        hosts, ports = ",".join("127.0.0.1" for _ in members), ",".join(str(member.port) for member in members)
        place = f"host={hosts} port={ports} dbname={database} user={user} target_session_attrs=read-write connect_timeout=2"
        return ["psql", "-d", place, "-v", "ON_ERROR_STOP=1", "-AtF", "\t", "-c"]

    def says(self, member, what):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{member.rest_port}/{what}", timeout=1):
            return True
        return False

    def servers(self, member):
        """The processes of a member's PostgreSQL, the first one first."""
        try:
            first = int((self.folder / member.name / "postmaster.pid").read_text().split()[0])
            return [first, *processes.children(first)]
        except (FileNotFoundError, IndexError, ValueError):
            return []

    def start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{processes.free_port()}"
        with open(self.folder / "etcd.log", "a") as log:
            self.etcd = subprocess.Popen(
                ["etcd", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                stdout=log, stderr=log,
            )
        processes.wait_until(lambda: processes.listens(self.etcd_port), 30, "etcd", self.etcd, pause=0.1)

    def configuration(self, member):
        """The differences from `config/patroni.yaml`: addresses and folders, and no passwords on loopback."""
        at, rest = f"127.0.0.1:{member.port}", f"127.0.0.1:{member.rest_port}"
        dcs = {"postgresql": {"parameters": {"shared_buffers": "64MB", "unix_socket_directories": str(self.folder)}}}
        if not self.is_safe:
            # A replica may take over even if it is far behind.
            dcs |= {"maximum_lag_on_failover": 1 << 40, "synchronous_mode": False, "synchronous_mode_strict": False}
        return {
            "name": member.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": [f"127.0.0.1:{self.etcd_port}"]},
            "bootstrap": {"dcs": dcs},
            "postgresql": {
                "listen": at, "connect_address": at, "data_dir": str(self.folder / member.name),
                "bin_dir": str(pathlib.Path(postgresql.find("initdb")).parent), "pgpass": str(self.folder / f"pgpass-{member.name}"),
                "pg_hba": ["local all all trust", "host replication replicator 127.0.0.1/32 trust", "host all all 127.0.0.1/32 trust"],
            },
            # A watchdog device, which processes cannot use here. Failover between machines requires it.
            "watchdog": {"mode": "off"},
        }
