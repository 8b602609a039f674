"""Faults of a SQLite database: damage, a restore, a long reader, a full disk."""

import contextlib
import ctypes
import os
import sqlite3
import threading

from sealpost_e2e import api, crew, outbox, processes, require
from sealpost_e2e.alerts import stand_in
from sealpost_e2e.alerts import watch as watching

CLONE_NEWNS = 0x20000
SIZE = "2g"  # Space for an overlong write-ahead log, and for the database after its checkpoint.
PAYLOAD, POSTERS = "x" * 60_000, 4


def run(options, left_out):
    enter_namespace()
    with Site(options.sealpost) as site:
        with watching.Watch(site, [site.port], left_out) as watch:
            daemon, _ = site.serve()
            api.register(site.connect(), Platform="fcm", Handle="token-alice-0000000000")
            watch.await_scrape()
            daemon = damage(site, watch, daemon)
            daemon = restore(site, watch, daemon)
            drop_receipts(site, watch)
            read_for_long(site, watch)
            fill_disk(site, watch)
        return watch.fired


def enter_namespace():
    """Hides the mounts from other programs; they end with this program."""
    libc = ctypes.CDLL(None, use_errno=True)
    require(not libc.unshare(CLONE_NEWNS), f"a mount namespace: {os.strerror(ctypes.get_errno())}")
    processes.run("mount", "--make-rprivate", "/")


class Site(outbox.Outbox):
    """A daemon with its own file system for the database, and alice's device at a simulated FCM."""

    def __init__(self, sealpost):
        super().__init__(sealpost, DATABASE="disk/sealpost.db")
        self.disk = self.folder / "disk"
        self.add_user("ada", "admin")
        self.simulate()
        room = self.folder / "room"
        room.mkdir()
        processes.run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", room)
        processes.run("cp", "-a", f"{self.disk}/.", room)
        processes.run("mount", "--move", room, self.disk)

    def __exit__(self, *arguments):
        for process in self.processes:
            processes.kill(process)
        processes.run("umount", self.disk)
        super().__exit__(*arguments)

    def post(self, payload="x"):
        return super().post({"Payload": payload, "To": ["username:alice"]})

    @contextlib.contextmanager
    def reading(self):
        """A connection of another program."""
        with contextlib.closing(sqlite3.connect(self.disk / "sealpost.db", timeout=60, isolation_level=None)) as database:
            yield database


def damage(site, watch, daemon):
    """Changes the device's encrypted handle, so that no push to it can be sent, and restores it."""
    processes.terminate(daemon)
    with site.reading() as database:
        handle, = database.execute("select handle from device").fetchone()
        database.execute("update device set handle = ?", [handle[:-1] + bytes([handle[-1] ^ 1])])
    daemon, _ = site.serve()
    site.post()
    watch.await_firing("SealpostDamagedRows")
    processes.terminate(daemon)
    with site.reading() as database:
        database.execute("update device set handle = ?", [handle])
    daemon, _ = site.serve()
    watch.await_clear("SealpostDamagedRows")
    return daemon


def restore(site, watch, daemon):
    """Replaces the database by a backup."""
    site.call("backup", "copy.db")
    for _ in range(20):
        site.post()
    entries = watch.value("sealpost_audit_entries_total") or 0
    processes.wait_until(lambda: watch.value("sealpost_audit_entries_total") >= entries + 10, 30, "a scrape", daemon)
    processes.terminate(daemon)
    site.call("restore", "--replace", "copy.db")
    daemon, _ = site.serve()
    watch.await_both("SealpostAuditShorter")
    return daemon


def drop_receipts(site, watch):
    """The stand-in reports dropped receipts: half a million real ones would take too long."""
    with contextlib.closing(stand_in.StandIn(site.port)) as target:
        watch.configure([f"127.0.0.1:{target.port}"])
        stand_in.fire(watch, target, "SealpostReceiptsDropped", "sealpost_receipts_dropped_total", 7)
        stand_in.fire(watch, target, "SealpostClockAhead", "sealpost_clock_ahead_seconds", 7200)
        stand_in.fire(watch, target, "SealpostAuditGrowing", "sealpost_audit_entries_total", 1_000_000)
        # The stand-in's number of entries falls to the daemon's.
        watch.await_clear("SealpostAuditShorter")
    watch.configure(watch.targets)


def read_for_long(site, watch):
    """A transaction of another program blocks the log's checkpoint, and then ends."""
    ends = threading.Event()

    def post():
        connection = site.connect()
        credentials = api.sign_in(connection, "alice")
        while not ends.is_set() and (watch.value("sealpost_write_ahead_log_bytes") or 0) < 300 << 20:
            for _ in range(20):
                api.post(connection, {"Payload": PAYLOAD, "To": ["username:alice"]}, credentials=credentials)

    with site.reading() as database:
        database.execute("begin")
        database.execute("select count(*) from account").fetchone()
        with crew.Crew(*[post] * POSTERS, ends=ends):
            watch.await_firing("SealpostWriteAheadLogLong")
    # The next posts cause the next checkpoint.
    watch.await_clear("SealpostWriteAheadLogLong", meanwhile=site.post)


class Hog(crew.Crew):
    """Fills the file system, and takes every byte that becomes free."""

    def __init__(self, file):
        self.file = file
        super().__init__(self.run)

    def run(self):
        with self.file.open("wb", buffering=0) as ballast:
            while not self.ends.is_set():
                for piece in (1 << 16, 1 << 12):
                    with contextlib.suppress(OSError):
                        while True:
                            ballast.write(bytes(piece))
                self.ends.wait(0.02)

    def give_back(self):
        self.stop()
        self.file.unlink(missing_ok=True)


def fill_disk(site, watch):
    hog = Hog(site.disk / "ballast")
    connection = site.connect()

    def post():
        api.ask(connection, "POST", "/api/notifications", {"Payload": PAYLOAD, "To": ["username:alice"]}, expected=[201, 507])

    try:
        watch.await_firing("SealpostCheckpointsFailing", meanwhile=post)
    finally:
        hog.give_back()
    watch.await_clear("SealpostCheckpointsFailing")
