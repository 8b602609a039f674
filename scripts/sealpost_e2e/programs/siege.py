"""Holds thousands of hostile and of idle connections, and measures what well-behaved clients and the memory notice.

1. 4,000 clients that send their header slowly and 4,000 that read their answer slowly (slowhttptest), all at once: a
   fixed rate of good requests must not fail, and its 99th percentile may be three times that without them. Both are
   measured in the same run in the same way, before, during and after; what else the machine does comes in bursts, so
   each is the median of some short measurements.
2. 10,000 kept connections that do nothing may take 10 KiB of memory each.

The daemon's own defences, which would end the siege, are put off: the deadlines and the connections of one address.
"""

import argparse
import http.client
import pathlib
import re
import resource
import subprocess
import time

from sealpost_e2e import rig

SLOW, IDLE = 4000, 10_000
RATIO, BYTES_EACH = 3, 10 * 1024
CLIENTS, RATE = 8, 50
ROUNDS = 5

DEFENCES = {
    "SERVER_LIMITS_MAXCONNECTIONSPERADDRESS": 20_000,
    "SERVER_LIMITS_HEADERTIMEOUT": 600,
    "SERVER_LIMITS_WRITETIMEOUT": 600,
    "SERVER_LIMITS_IDLETIMEOUT": 600,
}


def slow_clients(sealpost, seconds):
    with rig.Rig(sealpost, **DEFENCES) as site:
        daemon, _ = site.serve()
        direct = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        small, large = rig.post(direct, "small"), rig.post(direct, "x" * 60_000)
        direct.close()
        url = f"http://127.0.0.1:{site.port}/api/notifications/"
        good(site, url + str(small), 2)

        before = measure(site, url + str(small), seconds)
        # It has no option for a field of one's own, but takes what it is given for the cookie as it is.
        cookie = f"a=b\r\nAuthorization: {rig.CREDENTIALS}"
        headers = slow(site, "-H", "-i", "10", "-u", url + str(small), "-j", cookie)
        reads = slow(
            site, "-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3", "-u", url + str(large), "-j", cookie
        )
        wait_for(lambda: connections(site.port) >= 2 * SLOW, "the siege")
        wait_for(lambda: waiting(site.port) >= SLOW, "the slow readers")
        held = connections(site.port)
        during = measure(site, url + str(small), seconds)
        held = min(held, connections(site.port))
        size = resident(daemon.pid)
        for process in (headers, reads):
            rig.terminate(process)
        wait_for(lambda: connections(site.port) == 0, "the end of the siege")
        after = measure(site, url + str(small), seconds)
        code, rest = rig.terminate(daemon)

    unloaded = (before + after) / 2
    print(
        f"{held} slow connections held: 99th percentile of good requests {during / 1000:.2f} ms, without them "
        f"{before / 1000:.2f} ms before and {after / 1000:.2f} ms after; ratio {during / unloaded:.2f} "
        f"(at most {RATIO}); {size >> 20} MiB resident"
    )
    return held >= 2 * SLOW and during <= RATIO * unloaded and code == 0 and "level=error" not in rest


def idle_connections(sealpost):
    with rig.Rig(sealpost, **DEFENCES) as site:
        daemon, _ = site.serve()
        direct = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        id = rig.post(direct, "small")
        direct.close()
        # What the process needs for its first connections is not theirs.
        for connection in [keep(site.port, id, number) for number in range(200)]:
            connection.close()
        wait_for(lambda: connections(site.port) == 0, "the end of the first connections")
        before = resident(daemon.pid)
        kept = [keep(site.port, id, number) for number in range(IDLE)]
        each = (resident(daemon.pid) - before) / IDLE
        held = connections(site.port)
        fine = all(rig.fetch(connection, id) == "small" for connection in kept[:: IDLE // 100])
        for connection in kept:
            connection.close()
        rig.terminate(daemon)
    print(f"{held} idle connections held: {each / 1024:.1f} KiB resident each (at most {BYTES_EACH / 1024:.0f})")
    return held >= IDLE and each <= BYTES_EACH and fine


def keep(port, id, number):
    """A connection that has asked once, from one of some addresses: a single one has too few ports."""
    source = (f"127.0.1.{number % 8 + 1}", 0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=source)
    rig.fetch(connection, id)
    return connection


def measure(site, url, seconds):
    """The median of the 99th percentiles of some rounds, in microseconds."""
    return sorted(good(site, url, seconds) for _ in range(ROUNDS))[ROUNDS // 2]


def good(site, url, seconds):
    """The 99th percentile in microseconds of good requests at a fixed rate; ends the script if one fails."""
    log = site.folder / "durations"
    command = ["h2load", "--h1", "--clients", CLIENTS, "--rps", RATE, "--duration", seconds, "--log-file", log]
    subprocess.run(
        [*map(str, command), "-H", f"Authorization: {rig.CREDENTIALS}", url], check=True, stdout=subprocess.DEVNULL
    )
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    log.unlink()
    if (failed := sum(row[1] != "200" for row in rows)) or len(rows) < CLIENTS * RATE * seconds * 0.9:
        raise SystemExit(f"{failed} of {len(rows)} good requests failed")
    return sorted(int(row[2]) for row in rows)[len(rows) * 99 // 100]


def slow(site, *options):
    # Its own clients are many: it must not take the time of those that are measured.
    command = ["nice", "-n", "19", "slowhttptest", "-c", SLOW, "-r", "2000", "-l", "600", "-p", "60", *options]
    return site.start(list(map(str, command)), cwd=site.folder)


def connections(port):
    """How many are established with the daemon, counted at its side."""
    return sum(1 for row in table(port) if row[3] == "01")


def waiting(port):
    """How many of them have something to send that the client does not take."""
    return sum(1 for row in table(port) if row[3] == "01" and row[4].split(":")[0] != "00000000")


def table(port):
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()]
    return [row for row in rows if row[1].endswith(f":{port:04X}")]


def wait_for(condition, what):
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come within two minutes")
        time.sleep(0.2)


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sealpost", help="the executable")
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement (4)")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    results = [slow_clients(options.sealpost, options.seconds), idle_connections(options.sealpost)]
    if not all(results):
        raise SystemExit(1)
