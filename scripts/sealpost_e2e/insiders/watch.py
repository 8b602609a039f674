"""The honest users in their own process: they post to each lane, fetch, and request /readyz during a move.

The latency of a push runs from the beginning of its `POST` to its arrival at the provider, by the machine's clock.
"""

import functools
import http.client
import json
import multiprocessing
import os
import secrets
import threading
import time

from sealpost_e2e import crew, outbox, require
from sealpost_e2e.insiders.site import LANES

PERIOD, READY_PERIOD = 0.25, 0.1
TIMEOUT = 20  # Seconds to wait for late pushes at the end of a window.
ADDRESS = "127.0.0.10"


class Window:
    """The measurements of the honest users between `begin` and `end`."""

    def __init__(self, site):
        self.site = site
        self.offset = (site.folder / "received").stat().st_size
        self.arrivals_offset = site.arrivals.stat().st_size if site.arrivals.exists() else 0
        self.over = multiprocessing.Event()
        self.pipe, other = multiprocessing.Pipe()
        started = multiprocessing.Event()
        self.process = multiprocessing.Process(target=Honest(site, self.over, started, other).run, daemon=True)
        self.process.start()
        require(started.wait(60), "the honest cannot begin")

    def end(self):
        """Waits for the missing pushes, and judges the window."""
        self.over.set()
        deadline = time.time() + TIMEOUT
        while not self.pipe.poll(0.2):
            require(self.process.is_alive() and time.time() <= deadline + 60, "the honest did not come to their end")
        noted = self.pipe.recv()
        while True:
            latencies, missing = self.match(noted)
            if not missing or time.time() > deadline:
                break
            # The simulators write their log each second.
            time.sleep(0.5)
        self.process.join()
        return Verdict(latencies, missing, noted)

    def match(self, noted):
        """The latencies of each lane's pushes in seconds, and the lanes of the missing ones."""
        arrived = self.arrived()
        latencies, missing = {lane: [] for lane in LANES}, []
        for lane, key, start in self.keyed(noted):
            times = noted["events"] if lane == "stream" else arrived
            # The posts to a browser are far apart, so the first arrival belongs to this post.
            at = min((at for at in times.get((lane, key), ()) if at >= start - 0.002), default=None)
            if at is None:
                missing.append(lane)
                latencies[lane].append(time.time() - start)
            else:
                latencies[lane].append(at - start)
        return latencies, missing

    def keyed(self, noted):
        """Each post answered with 201, and the key of its push at the provider."""
        site = self.site
        with site.database() as database:
            seeds = dict(database.execute(
                "select id, seed from notification where id in (%s)" % ",".join(
                    str(id) for lane, _, id, _ in noted["posts"] if lane == "apns" and id
                )
            ))
            number = database.execute("select number from device where id = ?", [site.devices["apns"][0][1]]).fetchone()
        for lane, index, id, start in noted["posts"]:
            if id is None:
                continue
            match lane:
                case "apns": yield lane, outbox.apns_id(seeds.get(id, 0), number[0]) if number else "", start
                case "webpush":
                    endpoint = json.loads(site.devices[lane][index][2])["endpoint"]
                    yield lane, "/" + endpoint.split("/", 3)[3], start
                case _: yield lane, str(id), start

    def arrived(self):
        """The arrival times at the providers, by lane and key."""
        times = {}
        for at, platform, push, outcome, _ in self.site.received(self.offset):
            if outcome == "200":
                times.setdefault((platform, push), []).append(at)
        with open(self.site.arrivals) as file:
            file.seek(self.arrivals_offset)
            for line in file:
                if line.endswith("\n"):
                    seconds, platform, key, *_ = line.split(" ")
                    times.setdefault((platform, key.strip()), []).append(float(seconds))
        return times


class Verdict:
    """The record of the honest users."""

    def __init__(self, latencies, missing, noted):
        self.latencies, self.missing = latencies, sorted(set(missing))
        self.posts = len(noted["posts"])
        self.refused = [status for *_, status in noted["refused"]]
        self.unready = [status for status, _ in noted["ready"] if status != 200]
        self.slowest_flush = max(noted["flushes"], default=0)
        self.slowest_fetch = max((seconds for _, seconds in noted["fetches"]), default=0)
        self.failed_fetches = [status for status, _ in noted["fetches"] if status != 200]
        self.lane, self.worst = max(((lane, max(values, default=0)) for lane, values in latencies.items()), key=lambda entry: entry[1])

    def of(self, lane):
        return max(self.latencies[lane], default=0)


class Honest:
    def __init__(self, site, over, started, pipe):
        self.site, self.over, self.started, self.pipe = site, over, started, pipe
        self.noted = {name: [] for name in ("posts", "refused", "ready", "fetches", "flushes")} | {"events": {}}

    def run(self):
        streaming, listening = threading.Event(), threading.Thread(target=self.listen, daemon=True)
        self.streaming = streaming
        listening.start()
        streaming.wait(30)
        fetch, fields = f"/api/notifications/{self.site.fetched}", {"Authorization": self.site.publisher}
        works = [functools.partial(self.post, lane) for lane in LANES]
        works += [functools.partial(self.ask, "ready", "/readyz", {}), functools.partial(self.ask, "fetches", fetch, fields), self.flush]
        with crew.Crew(*works, ends=self.over):
            self.started.set()
            self.over.wait()
        wanted = [("stream", str(id)) for lane, _, id, _ in self.noted["posts"] if lane == "stream"]
        deadline = time.time() + TIMEOUT
        while time.time() < deadline and any(key not in self.noted["events"] for key in wanted):
            time.sleep(0.05)
        self.pipe.send(self.noted)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=30, source_address=(ADDRESS, 0))

    def request(self, connection, *request, tries):
        """The status and body of an answer, or an error's name. A kept connection may end at any time."""
        for _ in range(tries):
            try:
                connection.request(*request)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                failure = type(error).__name__
                connection.close()
        return failure, b""

    def post(self, lane):
        connection, number, users = self.connect(), 0, self.site.devices[lane]
        # Shifts their posts, so that they do not coincide.
        self.over.wait(PERIOD * LANES.index(lane) / len(LANES))
        while not self.over.is_set():
            start, index = time.time(), number % len(users)
            body = json.dumps({"Payload": f"to {lane}", "To": [f"username:{users[index][0]}"], "ExpiresIn": 600})
            fields = {"Authorization": self.site.publisher, "Idempotency-Key": secrets.token_hex(16)}
            # The idempotency key makes a repetition safe.
            status, answer = self.request(connection, "POST", "/api/notifications", body, fields, tries=3)
            if status == 201:
                self.noted["posts"].append((lane, index, json.loads(answer)["Id"], start))
            else:
                self.noted["refused"].append((lane, status))
            number += 1
            self.over.wait(max(0, start + PERIOD - time.time()))

    def ask(self, name, path, fields):
        connection = self.connect()
        while not self.over.is_set():
            start = time.time()
            status, _ = self.request(connection, "GET", path, None, fields, tries=2)
            self.noted[name].append((status, time.time() - start))
            self.over.wait(max(0, start + READY_PERIOD - time.time()))

    def flush(self):
        """Flushes a page to the same disk, as a commit does: a slow disk excuses a late push."""
        file = os.open(self.site.folder / "flushed", os.O_WRONLY | os.O_CREAT, 0o600)
        while not self.over.is_set():
            start = time.time()
            os.pwrite(file, os.urandom(4096), 0)
            os.fdatasync(file)
            self.noted["flushes"].append(time.time() - start)
            self.over.wait(max(0, start + READY_PERIOD - time.time()))
        os.close(file)

    def listen(self):
        """The stream of the user without a provider; it reconnects when it ends."""
        authorization = self.site.devices["stream"][0][3]
        last = {}
        while True:
            try:
                connection = self.connect()
                connection.request("GET", "/api/stream", headers={"Authorization": authorization} | last)
                response = connection.getresponse()
                self.streaming.set()
                while line := response.fp.readline():
                    if line.startswith(b"id: "):
                        id = line[4:].strip().decode()
                        self.noted["events"].setdefault(("stream", id), []).append(time.time())
                        last = {"Last-Event-ID": id}
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)


def summary(verdict):
    """The worst latency of each lane in milliseconds."""
    return ", ".join(f"{lane} {verdict.of(lane) * 1000:.0f}" for lane in LANES)
