"""Has retention empty a database of hundreds of MiB, whose file must become short again while nobody waits for that.

Batches fill the file with notifications that expire together. Meanwhile, while they are deleted, and while the file is shortened,
posts and fetches are timed. The file's part that is given back must be gone in the end, what did not expire must be there.
"""

import sqlite3
import time

from sealpost_e2e import api, crew, figures, processes, rig

BATCH, BYTES = 500, 2000
# Milliseconds that no post may take while the file becomes shorter, and how many times as long as before 99 in 100 may take.
SLOWEST, LONGER = 500, 3
# What may be left of the file at its longest.
LEFT = 1 / 3


def add_options(parser):
    parser.add_argument("--count", type=int, default=100_000, help="notifications that expire (100000)")


class Times(crew.Crew):
    """A client that posts and fetches twenty times a second each, and keeps when and how long."""

    def __init__(self, site):
        self.site, self.all, self.kept = site, [], {}
        super().__init__(self.run)

    def run(self):
        connection = self.site.connect()
        while not self.ends.wait(0.03):
            begin = time.monotonic()
            id = api.post(connection, f"kept {begin}")
            end = time.monotonic()
            self.all.append((begin, (end - begin) * 1000))
            self.kept[id] = f"kept {begin}"
            if api.fetch(connection, id) != self.kept[id]:
                raise SystemExit(f"{id} is another")

    def between(self, begin, end):
        return [time for at, time in self.all if begin <= at < end]


def run(options):
    with rig.Rig(options.sealpost, role="publisher") as site:
        file = site.folder / "var/sealpost.db"
        log = open(site.folder / "log", "w")
        daemon = site.start_daemon(stderr=log)
        processes.wait_until(lambda: file.exists() and processes.listens(site.port), 30, "the daemon", daemon)
        times = Times(site)
        try:
            time.sleep(10)
            quiet = time.monotonic()
            fill(site, options.count)
            full = time.monotonic()
            longest, shrinks, done = watch(file, daemon)
        finally:
            times.stop()
        connection = site.connect()
        lost = sum(api.fetch(connection, id) != payload for id, payload in times.kept.items())
        code = processes.terminate(daemon)[0]
        length = file.stat().st_size
        with sqlite3.connect(file) as database:
            intact = database.execute("pragma integrity_check").fetchone()[0]
        before, during = times.between(quiet - 10, quiet), times.between(shrinks, done)
        usual, then = figures.percentile(before), figures.percentile(during)
        print(
            f"the file: {longest >> 20} MiB at its longest, {length >> 20} MiB in the end; given back within {done - shrinks:.1f} s, "
            f"{(longest - length) / (1 << 20) / (done - shrinks):.0f} MiB a second; filled in {full - quiet:.0f} s"
        )
        is_fine = figures.report(length / longest <= LEFT, f"left of it: {length / longest:.3f} (at most {LEFT:.3f})")
        is_fine &= figures.report(
            then / usual <= LONGER,
            f"posts, 99 in 100: {usual:.1f} ms before, {then:.1f} ms while it was given back: {then / usual:.2f} (at most {LONGER})",
        )
        is_fine &= figures.report(max(during) <= SLOWEST, f"the slowest of {len(during)}: {max(during):.1f} ms (at most {SLOWEST})")
        is_fine &= figures.report(
            not lost and intact == "ok" and code == 0,
            f"{lost} of {len(times.kept)} that were kept are lost; integrity {intact}; exit code {code}",
        )
        if not is_fine:
            print((site.folder / "log").read_text()[-2000:])
            raise SystemExit(1)


def fill(site, count):
    """Posts notifications that expire at the same time."""
    connection, end = site.connect(), time.time() + 30 + count / 2000
    for _ in range(count // BATCH):
        element = {"Payload": "x" * BYTES, "ExpiresIn": max(1, int(end - time.time()))}
        answer = api.ask(connection, "POST", "/api/notifications/batch", {"Notifications": [element] * BATCH})
        if refused := [outcome for outcome in answer["Outcomes"] if outcome["Status"] != 201]:
            raise SystemExit(f"a notification was refused: {refused[0]}")


def watch(file, daemon):
    """The file's longest length, and when it began and ceased to become shorter."""
    longest, last, begin, changed = 0, 0, None, None
    deadline = time.monotonic() + 600
    while changed is None or time.monotonic() - changed < 25:
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the file has {last >> 20} MiB, and does not become shorter")
        length, now = file.stat().st_size, time.monotonic()
        longest = max(longest, length)
        if length < last:
            begin, changed = begin or now, now
        last = length
        time.sleep(0.1)
    return longest, begin, changed
