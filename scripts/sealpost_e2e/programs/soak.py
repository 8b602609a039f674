"""Runs a full load for a quarter of an hour: memory, descriptors, log and database file must not grow.

64 connections post, fetch and list at full speed; each post is pushed to a simulated provider and expires after half a minute.
Strangers connect and leave, and the program scrapes the metrics and reloads by SIGHUP. It compares the last third with the second.
The file's content follows the load, so the used pages without the audit are divided by the number of notifications, and the free
pages must stay within the server's own limit.
"""

import contextlib
import functools
import os
import signal
import sqlite3
import statistics
import subprocess
import threading
import time
import typing

from sealpost_e2e import api, crew, figures, outbox, processes

CONNECTIONS = 64
DRIFT, LONGEST_LOG = 1.02, 64 << 20  # The allowed growth from the second third to the last, and the allowed length of the log.
# The ratio of free to used pages above which the server frees pages: docs/decisions/sqlite-incremental-vacuum.md.
MOST_FREE = 1 / 4
LIFETIME = 30
PAGE = 4096
# A script of wrk. Of ten requests three post, one lists and six fetch.
LOAD = """
local fields, lister, count = {Authorization = "%s"}, {Authorization = "%s"}, 0
local post = '{"Payload":"' .. string.rep("x", 300) .. '","To":["username:alice"],"ExpiresIn":%d}'
function request()
    count = count + 1
    local kind = count %% 10
    if kind < 3 then return wrk.format("POST", "/api/notifications", fields, post) end
    if kind == 3 then return wrk.format("GET", "/api/notifications?limit=20", lister) end
    return wrk.format("GET", "/api/notifications/%d", fields)
end
"""
OPTIONS = {"--minutes": (15.0, "minutes of load")}


class Sample(typing.NamedTuple):
    """The state at a moment: bytes, descriptors, pages of the file, and rows."""

    memory: int
    descriptors: int
    log: int
    file: int
    pages: int
    free: int
    notifications: int
    entries: int

    def content(self, entry):
        """Bytes of used pages without the audit, whose entries take this size."""
        return (self.pages - self.free) * PAGE - self.entries * entry

    def __str__(self):
        return (
            f"memory {self.memory / (1 << 20):.0f} MiB, {self.descriptors} descriptors, log {self.log / (1 << 20):.1f} MiB, "
            f"file {self.file / (1 << 20):.1f} MiB, {self.free * PAGE / (1 << 20):.1f} MiB of it free; "
            f"{self.notifications} notifications, {self.entries} entries of the audit"
        )


def run(options):
    with outbox.Outbox(options.sealpost, LOG_LEVEL="warning") as site:
        site.simulate()
        site.add_user("ada", "admin")
        site.add_user("bob")
        daemon = site.start_blindly()
        processes.wait_until(lambda: api.is_ready(site.port), 60, "the daemon", daemon)
        connection = site.connect()
        api.register(connection, Platform="apns", Handle="ab" * 32)
        known = api.post(connection, {"Payload": "known", "To": ["username:alice"]})
        script = site.folder / "load.lua"
        for number in range(20):
            api.post(connection, {"Payload": f"known {number}", "To": ["username:bob"]})
        tokens = [api.sign_in(connection, name) for name in ("alice", "bob")]
        script.write_text(LOAD % (*tokens, LIFETIME, known))
        samples, output = load(site, daemon, script, options.minutes * 60)
        answers = [line for line in metrics(site) if "requests_total{" in line]
        # The bytes of an audit's row in the file, with its share of pages.
        audit = site.read("select sum(pgsize) * 1.0 / (select count(*) from audit) from dbstat where name = 'audit'")
        code = processes.terminate(daemon)[0]
        print(next(line.strip() for line in output.splitlines() if "requests in" in line), flush=True)
        is_fine = judge(samples, audit)
        is_fine &= figures.report("Non-2xx" not in output and "Socket errors" not in output, "each request was answered well")
        is_fine &= figures.report(code == 0, f"exit code {code}")
        if not is_fine:
            print(output, site.log.read_text()[-2000:], *answers, sep="\n")
            raise SystemExit(1)


def load(site, daemon, script, seconds):
    """Samples of each second, and wrk's output."""
    ends, samples = threading.Event(), []
    wrk = site.start(
        ["wrk", "--threads", "2", "--connections", str(CONNECTIONS), "--duration", f"{seconds:.0f}s", "--timeout", "10s",
            "--script", script, f"http://127.0.0.1:{site.port}/"],
        stdout=subprocess.PIPE,
    )
    with crew.Crew(functools.partial(connect_and_leave, site, ends), ends=ends):
        while wrk.poll() is None:
            if daemon.poll() is not None:
                raise SystemExit(f"the daemon ended with {daemon.returncode}: {site.log.read_text()[-2000:]}")
            samples.append(sample(site, daemon))
            if len(samples) % 10 == 0:
                daemon.send_signal(signal.SIGHUP)
                metrics(site)
            if len(samples) % 60 == 0:
                print(samples[-1], flush=True)
            time.sleep(1)
    # The last second may fall after the load.
    return samples[:-1], wrk.communicate()[0]


def connect_and_leave(site, ends):
    """Connections that make one request or none, and end."""
    turn = 0
    while not ends.wait(0.02):
        turn += 1
        connection = site.connect()
        if turn % 3:
            api.ask(connection, "GET", "/healthz" if turn % 2 else "/nothing", expected=(200, 404))
        else:
            connection.connect()
        connection.close()


def metrics(site):
    return api.ask(site.connect(), "GET", "/metrics", credentials=api.basic("ada")).splitlines()


def sample(site, daemon):
    database = site.folder / "var/sealpost.db"
    queries = ("pragma page_count", "pragma freelist_count", "select coalesce(sum(notifications), 0) from usage", "select coalesce(max(number), 0) from audit")
    with contextlib.closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
        connection.execute("begin")
        rows = [connection.execute(text).fetchone()[0] for text in queries]
    sizes = len(os.listdir(f"/proc/{daemon.pid}/fd")), os.stat(f"{database}-wal").st_size, database.stat().st_size
    return Sample(processes.memory(daemon), *sizes, *rows)


def judge(samples, entry):
    """Prints the last two thirds. Returns whether all is within its limits."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[-third:]

    def is_flat(name, measure):
        before, after = measure(middle), measure(last)
        text = f"{name}: {before:.1f}, then {after:.1f}; last third / second third {after / before:.3f} (at most {DRIFT})"
        return figures.report(after / before <= DRIFT, text)

    def share(part, whole, samples):
        return sum(map(part, samples)) / sum(map(whole, samples))

    free = share(lambda sample: sample.free, lambda sample: sample.pages - sample.free, last)
    longest = max(sample.log for sample in samples)
    return all([
        is_flat("resident memory, MiB", lambda part: statistics.fmean(sample.memory for sample in part) / (1 << 20)),
        is_flat("descriptors", lambda part: statistics.fmean(sample.descriptors for sample in part)),
        is_flat(
            "the file's bytes in use for each notification",
            lambda part: share(lambda sample: sample.content(entry), lambda sample: sample.notifications, part),
        ),
        figures.report(free <= MOST_FREE, f"the file's free pages: {free:.3f} of those in use (at most {MOST_FREE})"),
        figures.report(longest <= LONGEST_LOG, f"the log: at most {longest / (1 << 20):.1f} MiB (at most {LONGEST_LOG >> 20})"),
    ])
