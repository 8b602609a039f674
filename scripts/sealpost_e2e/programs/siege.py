"""Holds thousands of hostile and idle connections, and measures good clients' latency and the memory.

1. 4,000 clients send their headers slowly and 4,000 read their answers slowly (slowhttptest): good requests at a fixed rate
   must not fail, and their 99th percentile may be three times that before and after, each the median of some measurements.
2. 10,000 idle kept connections may take 10 KiB of memory each.
"""

import http.client
import statistics

from sealpost_e2e import api, processes, require, rig
from sealpost_e2e.figures import percentile, steady_requests

SLOW, IDLE = 4000, 10_000
RATIO, BYTES_EACH = 3, 10 * 1024
ROUNDS = 5
ESTABLISHED = "01"
# Limits that would end the siege.
DEFENCES = {f"SERVER_LIMITS_{name}TIMEOUT": 600 for name in ("HEADER", "WRITE", "IDLE")} | {"SERVER_LIMITS_MAXCONNECTIONSPERADDRESS": 20_000}
OPTIONS = {"--seconds": (4, "for each measurement")}


def slow_clients(sealpost, seconds):
    with rig.Rig(sealpost, **DEFENCES) as site:
        daemon, _ = site.serve()
        small, large = (f"http://127.0.0.1:{site.port}/api/notifications/{site.post(text)}" for text in ("small", "x" * 60_000))
        steady_requests(site, small, 2)
        before = measure(site, small, seconds)
        # slowhttptest has no option for other fields, but sends the cookie's value unchanged.
        cookie = f"a=b\r\nAuthorization: {api.CREDENTIALS}"
        headers = slow(site, "-H", "-i", "10", "-u", small, "-j", cookie)
        reads = slow(site, "-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3", "-u", large, "-j", cookie)
        processes.wait_until(lambda: connections(site.port) >= 2 * SLOW, 120, "the siege", pause=0.2)
        processes.wait_until(lambda: connections(site.port, 1) >= SLOW, 120, "the slow readers", pause=0.2)
        held = connections(site.port)
        during = measure(site, small, seconds)
        held = min(held, connections(site.port))
        size = processes.memory(daemon)
        for process in (headers, reads):
            processes.terminate(process)
        processes.wait_until(lambda: connections(site.port) == 0, 120, "the end of the siege", pause=0.2)
        after = measure(site, small, seconds)
        code, rest = processes.terminate(daemon)

    unloaded = (before + after) / 2
    print(
        f"{held} slow connections held: 99th percentile of good requests {during * 1000:.2f} ms, without them "
        f"{before * 1000:.2f} ms before and {after * 1000:.2f} ms after; ratio {during / unloaded:.2f} "
        f"(at most {RATIO}); {size >> 20} MiB resident"
    )
    return held >= 2 * SLOW and during <= RATIO * unloaded and code == 0 and "level=error" not in rest


def idle_connections(sealpost):
    with rig.Rig(sealpost, **DEFENCES) as site:
        daemon, _ = site.serve()
        id = site.post("small")
        # The process's memory for its first connections does not count.
        for connection in [keep(site.port, id, number) for number in range(200)]:
            connection.close()
        processes.wait_until(lambda: connections(site.port) == 0, 120, "the end of the first connections", pause=0.2)
        before = processes.memory(daemon)
        kept = [keep(site.port, id, number) for number in range(IDLE)]
        each = (processes.memory(daemon) - before) / IDLE
        held = connections(site.port)
        fine = all(api.fetch(connection, id) == "small" for connection in kept[:: IDLE // 100])
        for connection in kept:
            connection.close()
        processes.terminate(daemon)
    print(f"{held} idle connections held: {each / 1024:.1f} KiB resident each (at most {BYTES_EACH / 1024:.0f})")
    return held >= IDLE and each <= BYTES_EACH and fine


def keep(port, id, number):
    """A connection that has made one request, from one of some addresses: a single one has too few ports."""
    source = (f"127.0.1.{number % 8 + 1}", 0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=source)
    api.fetch(connection, id)
    return connection


def measure(site, url, seconds):
    """The median of the 99th percentiles of some rounds, in seconds."""
    return statistics.median(percentile(steady_requests(site, url, seconds)) for _ in range(ROUNDS))


def slow(site, *options):
    # Lowers the priority of the many hostile clients below the measured ones.
    command = ["nice", "-n", "19", "slowhttptest", "-c", SLOW, "-r", "2000", "-l", "600", "-p", "60", *options]
    return site.start(list(map(str, command)), cwd=site.folder)


def connections(port, least=0):
    """The number of established connections with so many bytes to send, counted at the daemon's side."""
    return sum(state == ESTABLISHED and to_send >= least for state, to_send, _ in processes.sockets(port))


def run(options):
    processes.raise_descriptor_limit()
    results = [slow_clients(options.sealpost, options.seconds), idle_connections(options.sealpost)]
    require(all(results))
