"""Guesses passwords, 10,000 in a minute, and measures what everybody else notices.

The guesses come from 300 addresses, which a trusted proxy on the loopback names, half of them at alice's account and the
others at fifty that there are not. The minute is six windows, and there is one without guesses before each and after the
last. In all of them bob fetches with a token and carol with her password, at a steady rate.

1. The 99th percentile of either's fetches, as the median of the windows with guesses, may be twice that of those without.
2. Resident memory may grow by 19 MiB for each thread that hashes, and 2 MiB for connections and for what the limiter
   remembers.
3. alice signs in during each window with guesses, from where she has signed in before and from a new address: the first
   try is answered with 200.
4. The log has a line now and then, and not one for each guess.
"""

import collections
import concurrent.futures
import multiprocessing
import os
import statistics
import threading
import time

from sealpost_e2e import api, crew, processes, rig
from sealpost_e2e.figures import percentile, report

ADDRESSES, ACCOUNTS, CONNECTIONS = 300, 50, 16
WINDOWS, SECONDS, FETCHES_EACH_SECOND = 6, 10, 100
RATIO, THREAD, REST = 2, 19 << 20, 2 << 20
LINES = 15
HOME = "192.0.2.1"


def add_options(parser):
    parser.add_argument("--guesses", type=int, default=10_000, help="in a minute (10000)")


def run(options):
    # On a busy machine it may take long until the niced threads have nothing to do, and the fetchers' connections are kept.
    settings = {"SERVER_TRUSTEDPROXIES": "127.0.0.1", "SERVER_LIMITS_IDLETIMEOUT": 600}
    with rig.Rig(options.sealpost, **settings) as site:
        for name in ("bob", "carol"):
            site.add_user(name)
        daemon, _ = site.serve()
        results = list(attack(site, daemon, options.guesses))
        code, rest = processes.terminate(daemon)
    lines = rest.count("sign-ins failed")
    results.append(report(lines <= LINES, f"{lines} lines in the log about it (at most {LINES})"))
    if not all(results) or code != 0 or "level=error" in rest:
        raise SystemExit(1)


def attack(site, daemon, guesses):
    port = site.port
    fetchers = [Fetcher(port, api.sign_in(site.connect(), "bob")), Fetcher(port, api.basic("carol"))]
    # What the pool and the allocator take when they work at all.
    for number in range(20):
        status_once(port, spelled(number), HOME)
    measure(fetchers, 2)
    settle(daemon)
    before = most = processes.memory(daemon)
    answers, owner, quiet, loud = collections.Counter(), [], [], []
    for window in range(WINDOWS):
        settle(daemon)
        quiet.append(measure(fetchers, SECONDS))
        count = guesses // WINDOWS
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as apart:
            guessing = apart.submit(guess, port, window * count, count)
            loud.append(measure(fetchers, SECONDS, lambda: owner.extend(sign_in(port, window))))
            most = max(most, processes.memory(daemon))
            answers += guessing.result()
    settle(daemon)
    quiet.append(measure(fetchers, SECONDS))

    told = ", ".join(f"{count} × {code}" for code, count in sorted(answers.items()))
    yield report(answers.total() >= guesses * 0.99 and answers[200] == 0, f"guesses: {told}")
    for index, name in enumerate(("with a token", "with a password")):
        without, during = (statistics.median(each[index] for each in windows) for windows in (quiet, loud))
        yield report(
            during <= RATIO * without,
            f"99th percentile of fetches {name}: {without * 1000:.2f} ms without guesses, {during * 1000:.2f} ms with; "
            f"ratio {during / without:.2f} (at most {RATIO})",
        )
    threads = max(1, (os.cpu_count() or 1) - 1)
    yield report(
        most - before <= threads * THREAD + REST,
        f"{before / 2**20:.1f} MiB resident before, at most {most / 2**20:.1f} MiB with guesses "
        f"(at most {threads} × 19 + 2 MiB more)",
    )
    for place in ("known", "new"):
        tries = [(code, seconds) for kind, code, seconds in owner if kind == place]
        yield report(
            all(code == 200 for code, _ in tries),
            f"the owner from a {place} address at the first try: {[code for code, _ in tries]}, after at most "
            f"{max(seconds for _, seconds in tries) * 1000:.0f} ms",
        )


def guess(port, start, count):
    """Wrong passwords at a steady rate, from all addresses in turn. How often each status was the answer."""
    os.nice(19)
    answers, lock, began = collections.Counter(), threading.Lock(), time.monotonic()

    def run(numbers):
        connection = api.connect(port)
        for number in numbers:
            time.sleep(max(0, began + (number - start) * SECONDS / count - time.monotonic()))
            name = "alice" if number % 2 else f"nobody-{number // 2 % ACCOUNTS}"
            # Half as often, so that each address guesses at all accounts.
            address = number // 2 % ADDRESSES
            credentials = api.basic(name, f"guess {number}")
            code = status_for(connection, credentials, f"198.18.{address // 250}.{address % 250}")
            with lock:
                answers[code] += 1

    crew.together(run, [range(start + index, start + count, CONNECTIONS) for index in range(CONNECTIONS)])
    return answers


class Fetcher:
    """One notification, fetched over a connection of its own at a steady rate."""

    def __init__(self, port, credentials):
        self.headers = {"Authorization": credentials}
        self.connection = api.connect(port)
        self.path = f"/api/notifications/{api.post(self.connection, 'hello', credentials=credentials)}"

    def run(self, seconds):
        """The 99th percentile in seconds of the answers; ends the script if one is not 200."""
        durations, began = [], time.monotonic()
        for number in range(seconds * FETCHES_EACH_SECOND):
            time.sleep(max(0, began + number / FETCHES_EACH_SECOND - time.monotonic()))
            start = time.perf_counter()
            self.connection.request("GET", self.path, headers=self.headers)
            response = self.connection.getresponse()
            response.read()
            durations.append(time.perf_counter() - start)
            if response.status != 200:
                raise SystemExit(f"a fetch was answered with {response.status}")
        return percentile(durations)


def measure(fetchers, seconds, meanwhile=None):
    """The 99th percentiles of all, at the same time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = [pool.submit(fetcher.run, seconds) for fetcher in fetchers]
        if meanwhile:
            time.sleep(seconds / 2)
            meanwhile()
        return [future.result() for future in running]


def sign_in(port, window):
    """alice's status and how long it took, from where she has been and from where she never was."""
    for place, number, address in (("known", 20, HOME), ("new", 26, f"203.0.113.{window}")):
        start = time.monotonic()
        yield place, status_once(port, spelled(number + window), address), time.monotonic() - start


def spelled(number):
    """alice's credentials in a spelling of their own, up to 31, so that they are not remembered."""
    name = "".join(letter.upper() if number >> index & 1 else letter for index, letter in enumerate("alice"))
    return api.basic(name)


def status_once(port, credentials, address):
    connection = api.connect(port)
    try:
        return status_for(connection, credentials, address)
    finally:
        connection.close()


def status_for(connection, credentials, address):
    return api.status(connection, "/api/register", credentials, **{"X-Forwarded-For": address})


def settle(daemon):
    """Waits until what has been waiting is hashed."""
    processes.wait_until_idle(daemon, 0.05, 300)
