"""What it costs posts that SQLite's file can become shorter, as a ratio of processor time, and how long it takes to rewrite a file.

The same file of some hundred thousand notifications is made once with `auto_vacuum` and once without, and the same batches are posted to
both by turns. The median of the rounds' ratios counts.
"""

import contextlib
import shutil
import sqlite3
import statistics
import time

from sealpost_e2e import api, processes, rig

BATCH, BYTES = 500, 600
# The most processor time of posts to a file that can become shorter, of that to one that cannot.
LIMIT = 1.1


def add_options(parser):
    parser.add_argument("--count", type=int, default=100_000, help="notifications that are there before (100000)")
    parser.add_argument("--rounds", type=int, default=5)


def run(options):
    with rig.Rig(options.sealpost, role="publisher", LOG_LEVEL="error") as site:
        file = site.folder / "var/sealpost.db"
        daemon = start(site)
        post(site, options.count)
        stop(daemon)
        for name, mode in (("fixed", 0), ("shrinking", 2)):
            # Both are rewritten, so that both are equally tidy.
            shutil.copy(file, site.folder / name)
            with contextlib.closing(sqlite3.connect(site.folder / name, isolation_level=None)) as database:
                database.execute("pragma secure_delete = on")
                database.execute(f"pragma auto_vacuum = {mode}")
                start_of_vacuum = time.monotonic()
                database.execute("vacuum")
                seconds = time.monotonic() - start_of_vacuum
                assert database.execute("pragma auto_vacuum").fetchone()[0] == mode
            size = (site.folder / name).stat().st_size / (1 << 20)
            print(f"{name}: {size:.1f} MiB, rewritten in {seconds:.2f} s: 64 MiB in {seconds * 64 / size:.2f} s", flush=True)
        ratios = []
        for number in range(options.rounds):
            times = {name: measure(site, file, name) for name in ("fixed", "shrinking")}
            ratios.append(times["shrinking"] / times["fixed"])
            print(f"round {number + 1}: {times['fixed']:.1f} and {times['shrinking']:.1f} µs a post, {ratios[-1]:.3f}", flush=True)
        ratio = statistics.median(ratios)
        print(f"shrinking / fixed, median of {options.rounds}: {ratio:.3f} (at most {LIMIT})")
        if ratio > LIMIT:
            raise SystemExit(1)


def measure(site, file, name):
    """Microseconds of the daemon's processor time for each post to a copy of a file."""
    for suffix in ("", "-wal", "-shm"):
        (file.parent / (file.name + suffix)).unlink(missing_ok=True)
    shutil.copy(site.folder / name, file)
    daemon = start(site)
    begin = processes.processor_time(daemon)
    count = 20_000
    post(site, count)
    used = processes.processor_time(daemon) - begin
    stop(daemon)
    return used / count * 1e6


def start(site):
    daemon = site.start_daemon(stderr=None)
    connection = site.connect()
    api.ask(connection, "GET", "/readyz")
    connection.close()
    return daemon


def stop(daemon):
    daemon.terminate()
    if daemon.wait(timeout=60):
        raise SystemExit(f"the daemon ended with {daemon.returncode}")


def post(site, count):
    connection = site.connect()
    for _ in range(count // BATCH):
        elements = [{"Payload": "x" * BYTES, "ExpiresIn": 86_400}] * BATCH
        answer = api.ask(connection, "POST", "/api/notifications/batch", {"Notifications": elements})
        if refused := [outcome for outcome in answer["Outcomes"] if outcome["Status"] != 201]:
            raise SystemExit(f"a notification was refused: {refused[0]}")
    connection.close()
