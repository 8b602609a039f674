"""Tries to tell, from answers to wrong passwords, which users there are.

Wrong passwords for known and for unknown names come in random order, one at a time, each from an address of its own,
which a trusted proxy on the loopback names, so that nobody is slowed.

1. All answers are the same bytes, but for `Date`; the request id is given.
2. The times do not differ: p of the Mann-Whitney test, two-sided, is above 0.01. That many times tell a difference of a
   fortieth of their standard deviation.
"""

import math
import random
import re
import socket
import statistics
import time

from sealpost_e2e import api, processes, rig

LEAST = 0.01
KNOWN = ["alice", "bobby", "carol"]
UNKNOWN = ["alina", "bella", "cindy"]


def add_options(parser):
    parser.add_argument("--count", type=int, default=500, help="of either kind (500)")


def run(options):
    with rig.Rig(options.sealpost, SERVER_TRUSTEDPROXIES="127.0.0.1") as site:
        for name in KNOWN[1:]:
            site.add_user(name)
        daemon, _ = site.serve()
        times, answers = measure(site.port, options.count)
        code, _ = processes.terminate(daemon)
    p = mann_whitney(times[True], times[False])
    known, unknown = (statistics.median(times[kind]) * 1000 for kind in (True, False))
    print(f"{options.count} of either kind: {len(answers)} different answers (at most 1); median of known names "
          f"{known:.3f} ms, of unknown ones {unknown:.3f} ms; p = {p:.3f} (more than {LEAST})")
    if len(answers) != 1 or not answers.pop().startswith(b"HTTP/1.1 401 ") or p <= LEAST or code != 0:
        raise SystemExit(1)


def measure(port, count):
    """Seconds by whether there is such a user, and all different answers."""
    kinds = [True, False] * count
    random.shuffle(kinds)
    times, answers = {True: [], False: []}, set()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, kind in enumerate([True, False] * 10 + kinds):
            name = random.choice(KNOWN if kind else UNKNOWN)
            request = (
                "GET /api/register HTTP/1.1\r\nHost: sealpost.test\r\nX-Request-Id: same\r\n"
                f"X-Forwarded-For: 10.{number >> 16}.{number >> 8 & 255}.{number & 255}\r\n"
                f"Authorization: {api.basic(name, f'wrong password {number:06}')}\r\n\r\n"
            ).encode()
            start = time.perf_counter()
            connection.sendall(request)
            answer = receive(connection)
            seconds = time.perf_counter() - start
            answers.add(re.sub(rb"\r\nDate: [^\r]*", b"", answer))
            # The first ones warm up.
            if number >= 20:
                times[kind].append(seconds)
    return times, answers


def receive(connection):
    """One answer with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or end()
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"\r\nContent-Length: (\d+)", head, re.IGNORECASE)[1])
    while len(body) < length:
        body += connection.recv(65536) or end()
    return head + b"\r\n\r\n" + body


def end():
    raise SystemExit("the connection has ended")


def mann_whitney(first, second):
    """The two-sided p of the U test in its normal approximation, with corrections for ties and continuity."""
    values = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    rank_sum, ties, start = 0.0, 0, 0
    while start < len(values):
        end = start
        while end < len(values) and values[end][0] == values[start][0]:
            end += 1
        # Equal values share the mean of their ranks, which are counted from 1.
        rank_sum += (start + 1 + end) / 2 * sum(1 for value in values[start:end] if value[1] == 0)
        ties += (end - start) ** 3 - (end - start)
        start = end
    n, m, total = len(first), len(second), len(values)
    u = rank_sum - n * (n + 1) / 2
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    z = max(0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))
