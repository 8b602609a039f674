"""A broadcast wakes 100,000 phones of as many users, and all fetch.

In the first broadcast each phone fetches when its push arrives, while the server sends the others and single posts go on. In
the second the server first sends all pushes, and then 20,000 phones fetch at the same time. Each turn fetches once more after
all receipts are written: this is the plain rate.
"""

import functools
import hashlib
import hmac
import pathlib
import random
import statistics
import string
import struct
import threading
import time
import zlib

from sealpost_e2e import api, crew, outbox, processes, require, sealing
from sealpost_e2e.figures import percentile
from sealpost_e2e.sink import Sink

RATIO, SLOWEST, LATEST, MEMORY = 0.9, 0.050, 10, 256
AT_ONCE = 20_000  # Phones of a turn.
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
OPTIONS = {"peers": "the folder with push-sink and herd-fetch", "--phones": (100_000, "phones")}


def run(options):
    with outbox.Outbox(options.sealpost) as site:
        site.add_user("ada", "admin")
        sink = Sink(site, pathlib.Path(options.peers).resolve() / "push-sink")
        with site.database() as database:
            outbox.add_devices(database, "apns", options.phones)
            tokens = add_tokens(site, database)
        site.tokens = write_tokens(site, "all", tokens)
        parts = [write_tokens(site, start, tokens[start:start + AT_ONCE]) for start in range(0, options.phones, AT_ONCE)]
        daemon, _ = site.serve()
        site.fetcher = pathlib.Path(options.peers).resolve() / "herd-fetch"
        failed = fetch_on_arrival(site, daemon, sink, options.phones)
        processes.terminate(daemon)
        require(not (failed | all_at_once(site, sink, parts, options.phones)))


def fetch_on_arrival(site, daemon, sink, phones):
    sink.reset()
    latencies, isOver = [], threading.Event()
    id = broadcast(site)
    with crew.Crew(functools.partial(post_on, site, latencies, isOver), ends=isOver):
        seconds = fetch(site, site.tokens, id)
        last = time.monotonic()
    late = await_receipts(site, daemon, id, phones) - last
    slowest = percentile(latencies)
    memory = processes.memory(daemon, "VmHWM") >> 20
    print(
        f"{phones} phones that collect as they are pushed to: {phones / seconds:.0f} pushes and fetches a second; "
        f"{len(latencies)} posts beside them, 99 of 100 within {slowest * 1000:.1f} ms (at most {SLOWEST * 1000:.0f}); all receipts "
        f"written {max(late, 0):.1f} s after the last fetch (at most {LATEST}); {memory} MiB", flush=True,
    )
    return slowest > SLOWEST or late > LATEST or memory > MEMORY


def all_at_once(site, sink, parts, phones, rounds=5):
    ratios, latest, memory = [], 0, 0
    for number in range(1, rounds + 1):
        with site.database() as database:
            # The devices' twenty minutes without a push would not be over.
            database.execute("delete from device_push")
        daemon, _ = site.serve()
        sink.reset()
        id = broadcast(site)
        processes.wait_until(lambda: sink.count >= phones and site.is_settled(), 300, "the end of the broadcast", daemon)
        first = plain = late = fetched = 0
        for part in parts:
            daemon = restart(site, daemon)
            first += fetch(site, part, id)
            last = time.monotonic()
            fetched = min(fetched + AT_ONCE, phones)
            late = max(late, await_receipts(site, daemon, id, fetched) - last)
            memory = max(memory, processes.memory(daemon, "VmHWM") >> 20)
            daemon = restart(site, daemon)
            plain += fetch(site, part, id)
        processes.terminate(daemon)
        ratios.append(plain / first)
        latest = max(latest, late)
        print(
            f"round {number}: {ratios[-1]:.2f}  (a second: first {phones / first:.0f}, plain {phones / plain:.0f}; all receipts "
            f"written {late:.1f} s after the last)", flush=True,
        )
    ratio = statistics.median(ratios)
    print(
        f"first fetches / plain fetches, median of {rounds}: {ratio:.2f} (at least {RATIO}); all receipts written {latest:.1f} s "
        f"after the last (at most {LATEST}); {memory} MiB (at most {MEMORY})", flush=True,
    )
    return ratio < RATIO or latest > LATEST or memory > MEMORY


def restart(site, daemon):
    processes.terminate(daemon)
    return site.serve()[0]


def broadcast(site):
    return site.post({"Payload": "Your test result is in.", "To": ["news"]})


def post_on(site, latencies, isOver):
    """Posts to the own user, a hundred a second."""
    connection = site.connect()
    while not isOver.wait(0.01):
        start = time.monotonic()
        api.post(connection, "beside")
        latencies.append(time.monotonic() - start)
    connection.close()


def fetch(site, tokens, id):
    """The seconds until the phones with these tokens have fetched."""
    return float(processes.run(site.fetcher, site.port, tokens, id, site.folder / "counters"))


def await_receipts(site, daemon, id, phones):
    """The time when the receipts of all phones were written."""
    query = "select count(*) from recipient where notification_id = ? and fetched_at is not null"
    with site.database() as database:
        processes.wait_until(lambda: database.execute(query, [id]).fetchone()[0] == phones, 60, "all receipts", daemon, pause=0.1)
    return time.monotonic()


def write_tokens(site, name, tokens):
    path = site.folder / f"tokens-{name}"
    path.write_text("".join(f"{token}\n" for token in tokens))
    return path


def add_tokens(site, database):
    """Creates a token for each device's user, in the order of the devices, as the server would."""
    key = sealing.Sealing(site.folder / "var/keyring", database).derive("row")
    now, numbers = outbox.milliseconds(), random.Random()
    rows, tokens = [], []
    for (user,) in database.execute("select user_id from device order by number"):
        token = make_token(numbers)
        fingerprint = hashlib.sha256(token.encode()).digest()
        halves = struct.unpack("=2q", fingerprint[:16])
        mac = hmac.digest(key, struct.pack(">5q", 2, *halves, user, 0), "sha256")
        rows.append((fingerprint, token[:12], user, "fetch", now, now + 86_400_000, struct.unpack("=q", mac[:8])[0]))
        tokens.append(token)
    with outbox.transaction(database):
        database.executemany(
            """
            insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, mac)
            values (?, ?, ?, 0, ?, ?, ?, ?)
            """, rows,
        )
    return tokens


def make_token(numbers):
    body = "spt_" + "".join(numbers.choices(DIGITS, k=36))
    rest, digits = zlib.crc32(body.encode()), []
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits.append(DIGITS[digit])
    return body + "".join(reversed(digits))
