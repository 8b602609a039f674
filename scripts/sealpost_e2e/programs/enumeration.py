"""Tests that answers to wrong passwords do not reveal which users exist.

Wrong passwords for known and unknown names come in random order, each from a new address, which a trusted proxy names. All
answers have the same status, fields and bytes, except `Date`. The times do not differ: p of the two-sided Mann-Whitney test is
above 0.01. This number of times reveals a difference of a fortieth of their standard deviation.
"""

import math
import random
import statistics
import time

from sealpost_e2e import api, processes, require, rig

LEAST = 0.01
KNOWN = ["alice", "bobby", "carol"]
UNKNOWN = ["alina", "bella", "cindy"]
OPTIONS = {"--count": (500, "requests of either kind")}


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
    require(len(answers) == 1 and answers.pop()[0] == 401 and p > LEAST and code == 0)


def measure(port, count):
    """The seconds of known and unknown names, and all different answers."""
    kinds = [True, False] * count
    random.shuffle(kinds)
    times, answers = {True: [], False: []}, set()
    connection = api.connect(port)
    for number, kind in enumerate([True, False] * 10 + kinds):
        credentials = api.basic(random.choice(KNOWN if kind else UNKNOWN), f"wrong password {number:06}")
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        start = time.perf_counter()
        fields = {"Authorization": credentials, "X-Forwarded-For": address, "X-Request-Id": "same"}
        status, fields, body = api.exchange(connection, "GET", "/api/register", None, fields)
        seconds = time.perf_counter() - start
        answers.add((status, str([(name, value) for name, value in fields.items() if name != "Date"]), body))
        # The first ones warm up.
        if number >= 20:
            times[kind].append(seconds)
    return times, answers


def mann_whitney(first, second):
    """The two-sided p of the U test, by its normal approximation; ties are too few to matter."""
    values = sorted([(value, True) for value in first] + [(value, False) for value in second])
    ranks = sum(rank for rank, (_, is_first) in enumerate(values, 1) if is_first)
    n, m = len(first), len(second)
    u = ranks - n * (n + 1) / 2
    return math.erfc(abs(u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12) / math.sqrt(2))
