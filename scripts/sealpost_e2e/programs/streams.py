"""Tests event streams at several daemons on one PostgreSQL while devices reconnect and daemons are killed.

Each device reads a stream from a random daemon; first all stay, then they reconnect elsewhere with the id of their last event, and
kill -9 hits daemons. A ledger outside has the acknowledged posts: each must arrive at its device's stream within half a minute of
the last post. With `--blind` the program empties the table of the streams' places repeatedly; then it must fail.
"""

import collections
import functools
import http.client
import random
import re
import secrets
import socket
import threading
import time

from sealpost_e2e import api, crew, figures, postgresql, require, several

EVENT = re.compile(rb"id: (\d+)\ndata: ")
LATEST = 30  # Seconds for the last push: a dead daemon's leases last five, and another daemon finds its pushes a little later.
OPTIONS = {
    "--nodes": (3, "daemons"), "--devices": (100, "devices"), "--posters": (8, "posters"),
    "--pace": (0.05, "seconds between two posts of a poster"),
    "--steady": (20.0, "seconds before the first kill or reconnection"), "--kills": (20, "kills"),
    "--seed": (random.randrange(1 << 32), "seed of the random instants"), "--blind": "the control: must fail",
}


class Device(crew.Crew):
    """A device with its own user, which reads one stream at a time until it is stopped."""

    def __init__(self, site, name, chance):
        self.site, self.chance = site, chance
        connection = api.connect(site.ports[0])
        self.name, self.credentials = name, api.sign_in(connection, name)
        self.id = api.register(connection, self.credentials, Platform="stream")
        # When each notification arrived first, and how often it came.
        self.arrivals, self.counts, self.last = {}, collections.Counter(), None
        self.moves, self.opened = threading.Event(), 0
        super().__init__(self.run)

    def run(self):
        while not self.ends.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.chance.choice(self.site.ports)), timeout=20) as stream:
                    self.read(stream)
            except OSError:
                # Its daemon was killed; a new one soon listens at the same port.
                self.ends.wait(0.1)

    def read(self, stream):
        """Reads a stream until its end, which this side causes after some seconds."""
        lines = [f"GET /api/stream?device={self.id} HTTP/1.1", "Host: localhost", f"Authorization: {self.credentials}"]
        lines += [f"Last-Event-ID: {self.last}"] if self.last else []
        stream.sendall("\r\n".join([*lines, "", ""]).encode())
        leaves, hasLeft, text = time.monotonic() + self.chance.uniform(0.5, 8), False, b""
        stream.settimeout(0.2)
        while True:
            if not hasLeft and (self.ends.is_set() or self.moves.is_set() and time.monotonic() > leaves):
                # The sent events arrive before the daemon's end.
                stream.shutdown(socket.SHUT_WR)
                hasLeft = True
            try:
                piece = stream.recv(1 << 16)
            except TimeoutError:
                continue
            if not piece:
                return
            if not text and b" 200 " in piece.partition(b"\r\n")[0]:
                self.opened += 1
            text += piece
            for found in EVENT.finditer(text):
                self.last = int(found[1])
                self.arrivals.setdefault(self.last, time.monotonic())
                self.counts[self.last] += 1
                end = found.end()
            # Drops the head, and keeps a partial event.
            text = text[-64:] if not EVENT.search(text) else text[end:]


class Posters(crew.Crew):
    """Threads that post to devices at random, each time to another daemon, until they are stopped."""

    def __init__(self, site, devices, credentials, count, pace):
        self.site, self.devices, self.credentials, self.pace = site, devices, credentials, pace
        # The device and the time of each acknowledged notification.
        self.posted, self.lost = {}, collections.Counter()
        super().__init__(*(functools.partial(self.run, random.Random(number)) for number in range(count)))

    def run(self, chance):
        connections = {}
        while not self.ends.wait(self.pace):
            port, device = chance.choice(self.site.ports), chance.choice(self.devices)
            start = time.monotonic()
            try:
                connection = connections.setdefault(port, api.connect(port, timeout=20))
                order = {"Payload": secrets.token_hex(16), "To": [f"username:{device.name}"]}
                id = api.post(connection, order, credentials=self.credentials)
                with self.lock:
                    self.posted[id] = (device, start)
            except (OSError, http.client.HTTPException) as error:
                connections.pop(port).close()
                self.lost["refused" if isinstance(error, api.UnexpectedAnswer) else "lost"] += 1


def run(options):
    instants = random.Random(options.seed)
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, options.nodes) as site:
        site.configuration.write_text("senders:\n  stream: {type: stream}\n")
        names = [f"user{number}" for number in range(options.devices)]
        for name in names:
            site.add_user(name)
        site.begin_all()
        devices = [Device(site, name, random.Random(f"{options.seed} {name}")) for name in names]
        alice = api.sign_in(api.connect(site.ports[0]), "alice")
        blinder = Blinder(cluster) if options.blind else None
        try:
            first = steady(site, devices, alice, options)
            second = disturbed(site, devices, alice, options, instants)
        finally:
            if blinder:
                blinder.stop()
            for device in devices:
                device.stop()
    missing = [report("at rest", *first), report(f"with {options.kills} kills (seed {options.seed})", *second)]
    opened, twice = sum(device.opened for device in devices), sum(sum(device.counts.values()) - len(device.counts) for device in devices)
    print(f"{opened} streams opened by {options.devices} devices at {options.nodes} daemons; {twice} events came more than once")
    require(not any(missing))


def steady(site, devices, alice, options):
    """Posts while all streams stay."""
    wait_for(lambda: all(device.opened for device in devices), 60)
    posters = Posters(site, devices, alice, options.posters, options.pace)
    time.sleep(options.steady)
    posters.stop()
    return posters, await_all(posters)


def disturbed(site, devices, alice, options, instants):
    """Posts while devices reconnect and daemons are killed; at last everything stays."""
    posters = Posters(site, devices, alice, options.posters, options.pace)
    for device in devices:
        device.moves.set()
    for _ in range(options.kills):
        time.sleep(instants.uniform(0.5, 3))
        number = instants.randrange(options.nodes)
        site.kill(number)
        site.begin(number)
    for device in devices:
        device.moves.clear()
    posters.stop()
    return posters, await_all(posters)


def await_all(posters):
    """The number of acknowledged notifications that are late or missing."""
    def missing():
        return sum(1 for id, (device, _) in posters.posted.items() if id not in device.arrivals)
    wait_for(lambda: not missing(), LATEST)
    return missing()


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


def report(what, posters, missing):
    delays = [device.arrivals[id] - start for id, (device, start) in posters.posted.items() if id in device.arrivals]
    median, most = (figures.percentile(delays, part) if delays else 0 for part in (50, 99))
    print(
        f"{what}: {len(posters.posted)} notifications acknowledged, {missing} of them did not arrive; from the post's begin to its "
        f"event: half within {median * 1000:.0f} ms, 99 of 100 within {most * 1000:.0f} ms, all within {max(delays, default=0):.1f} s; "
        f"{posters.lost['lost']} connections lost, {posters.lost['refused']} posts refused"
    )
    return missing


class Blinder(crew.Crew):
    """Empties the table of streams repeatedly."""

    def __init__(self, cluster):
        self.cluster = cluster
        super().__init__(self.run)

    def run(self):
        while not self.ends.wait(0.05):
            self.cluster.query("delete from stream")
