"""Fills and empties a file system of 8 MiB under load: posts are refused with 507 and taken again without a restart.

Posters and fetchers never pause. In each cycle something else on the same file system takes all room that there is, also what the
daemon gives back meanwhile, and then gives it back; in the last, the notifications themselves fill it, and room comes from outside.
All that is acknowledged is fetched at the end, and what was refused is not stored.

It needs the right to mount: the file system is in memory, in a mount namespace of the program's own.
"""

import contextlib
import ctypes
import http.client
import json
import os
import random
import sqlite3
import threading
import time

from sealpost_e2e import api, processes, rig

CLONE_NEWNS = 0x20000
SIZE = 8 << 20
FETCHERS, POSTERS = 3, 3


class Load:
    """Clients that post and fetch without a pause, and count what they are answered."""

    def __init__(self, port, known):
        self.port, self.known = port, known
        self.posted, self.refused, self.fetched, self.failures = {}, 0, 0, []
        self.lock, self.ends = threading.Lock(), threading.Event()
        self.size = 200
        roles = [self.fetch] * FETCHERS + [self.post] * POSTERS
        self.threads = [threading.Thread(target=self.run, args=(role, n)) for n, role in enumerate(roles)]
        for thread in self.threads:
            thread.start()

    def run(self, role, number):
        connection, turn = api.connect(self.port), 0
        while not self.ends.is_set():
            turn += 1
            try:
                role(connection, f"{number}-{turn}-")
            except (OSError, http.client.HTTPException, ValueError) as error:
                with self.lock:
                    self.failures.append(f"{role.__name__} {number}-{turn}: {error!r}")
                connection.close()
        connection.close()

    def fetch(self, connection, _):
        id, payload = self.known
        if api.fetch(connection, id) != payload:
            raise ValueError("another payload")
        with self.lock:
            self.fetched += 1

    def post(self, connection, name):
        payload = name + "x" * self.size
        connection.request("POST", "/api/notifications", json.dumps(payload), {"Authorization": api.CREDENTIALS})
        response = connection.getresponse()
        answer = json.loads(response.read())
        with self.lock:
            if response.status in (200, 201):
                self.posted[answer["Id"]] = payload
            elif response.status == 507 and answer["type"].endswith("storage-full") and response.getheader("Retry-After"):
                self.refused += 1
            else:
                self.failures.append(f"post {name}: {response.status} {answer}")
        # The notifications of all cycles have room beside each other.
        time.sleep(random.uniform(0, 0.06))

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


class Hog:
    """Something else that takes all room of the file system, as soon as there is any."""

    def __init__(self, file):
        self.file, self.ends = file, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with self.file.open("wb", buffering=0) as ballast:
            while not self.ends.is_set():
                for piece in (1 << 16, 1 << 12):
                    try:
                        while True:
                            ballast.write(bytes(piece))
                    except OSError:
                        pass
                self.ends.wait(0.02)

    def give_back(self):
        self.ends.set()
        self.thread.join()
        self.file.unlink(missing_ok=True)


def add_options(parser):
    parser.add_argument("--count", type=int, default=12, help="cycles (12)")


def run(options):
    enter_namespace()
    with rig.Rig(options.sealpost, DATABASE="disk/sealpost.db") as site:
        disk = site.folder / "disk"
        # The user that the rig has made is in a folder that the file system hides, so it is mounted elsewhere and moved in.
        room = site.folder / "room"
        room.mkdir()
        processes.run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", room)
        processes.run("cp", "-a", f"{disk}/.", room)
        processes.run("mount", "--move", room, disk)
        try:
            fill_and_empty(site, disk, options.count)
        finally:
            for process in site.processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            processes.run("umount", disk)


def fill_and_empty(site, disk, count):
    daemon, _ = site.serve()
    connection = site.connect()
    known = (api.post(connection, "known"), "known")
    # Opened again when it is needed.
    connection.close()
    load, hog = Load(site.port, known), None
    healed, ready_after = [], []
    try:
        for cycle in range(count):
            if cycle == count - 1:
                # Large enough to take the rest in seconds.
                load.size = 20_000
            else:
                processes.wait_until(lambda n=len(load.posted): len(load.posted) > n + 20, 30, "posts", daemon)
                hog = Hog(disk / "ballast")
            before = load.refused
            processes.wait_until(lambda: load.refused > before + 20, 60, "refusals", daemon)
            ready = site.connect()
            processes.wait_until(lambda: not is_ready(ready), 30, "/readyz with 503", daemon)
            fetched = load.fetched
            processes.wait_until(lambda: load.fetched > fetched + 20, 30, "fetches on a full disk", daemon)
            start, posted = time.monotonic(), len(load.posted)
            load.size = 200
            if cycle == count - 1:
                processes.run("mount", "-o", f"remount,size={2 * SIZE}", disk)
            else:
                hog.give_back()
            processes.wait_until(lambda: len(load.posted) > posted + 20, 30, "posts after there was room", daemon)
            healed.append(time.monotonic() - start)
            processes.wait_until(lambda: is_ready(ready), 10, "/readyz", daemon)
            ready_after.append(time.monotonic() - start)
            ready.close()
    finally:
        load.stop()
        if hog:
            hog.give_back()
    wrong = sum(api.fetch(connection, id) != payload for id, payload in load.posted.items())
    code, log = processes.terminate(daemon)
    with contextlib.closing(sqlite3.connect(disk / "sealpost.db")) as database:
        stored = database.execute("select count(*) from notification").fetchone()[0] - 1
        intact = database.execute("pragma integrity_check").fetchone()[0]
    if load.failures:
        print(*load.failures[:20], sep="\n")
    print(
        f"{count} times full and healed, posts at most {max(healed):.1f} s after there was room and /readyz {max(ready_after):.1f} s: "
        f"{len(load.posted)} posts taken, "
        f"{load.refused} refused with 507, {load.fetched} fetches; {len(load.failures)} other answers, {wrong} posts lost, "
        f"{stored - len(load.posted)} stored unasked; integrity {intact}; exit code {code}; "
        f"{log.count('disk full')} lines of a full disk"
    )
    if load.failures or wrong or stored != len(load.posted) or intact != "ok" or code:
        raise SystemExit(1)


def is_ready(connection):
    connection.request("GET", "/readyz")
    response = connection.getresponse()
    response.read()
    return response.status == 200


def enter_namespace():
    """Mounts are seen by this program and what it starts, and end with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise SystemExit(f"a mount namespace: {os.strerror(ctypes.get_errno())}")
    processes.run("mount", "--make-rprivate", "/")
