"""Reads thousands of payloads that may be read once, over a relay that cuts off one answer in three.

Each recipient asks until it has its payload, and half of them confirm it with `POST /api/notifications/{id}/taken`, over the
relay, too. Then the daemon is killed and another one started.

1. Every recipient has got its payload, whatever was cut off; to confirm again is no error.
2. What all recipients have confirmed is erased at once, and the rest a minute after the first fetch, also by the second
   daemon: no byte of what was sealed is in the database or its log, and the answer is 404.
"""

import contextlib
import http.client
import json
import random
import re
import secrets
import socket
import sqlite3
import struct
import threading
import time

from sealpost_e2e import api, crew, listening, processes, rig

READERS = [f"reader{number}" for number in range(8)]
LEASE = 60
# How much later something may be erased: the lease's end is seen and the pages are wiped with that of others.
GRACE = 3


def add_options(parser):
    parser.add_argument("--count", type=int, default=10_000, help="payloads (10000)")
    parser.add_argument("--quick", action="store_true", help="all are confirmed, so that the end of no lease is waited for")


class Notice:
    """A payload and who may read it."""

    def __init__(self, number, is_confirmed):
        self.payload = {"number": number, "secret": secrets.token_hex(12)}
        # Every tenth has two readers.
        self.readers = [READERS[(number + offset) % len(READERS)] for offset in range(2 if number % 10 == 0 else 1)]
        self.is_confirmed = is_confirmed
        self.id = None
        self.fetched_at = 0

    @property
    def path(self):
        return f"/api/notifications/{self.id}"


class Relay(listening.Listener):
    """Passes requests on, and resets the client's connection in place of each third answer, or in the middle of it."""

    def __init__(self, port):
        self.to = port
        self.answers = self.cut = 0
        self.lock = threading.Lock()
        super().__init__()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.to), timeout=60) as server:
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while request := receive(client):
                server.sendall(request)
                answer = receive(server)
                if not answer:
                    return
                with self.lock:
                    self.answers += 1
                    is_cut = self.answers % 3 == 0
                    self.cut += is_cut
                if is_cut:
                    client.sendall(answer[: random.choice((0, len(answer) // 2, len(answer) - 1))])
                    # RFC 9293, section 3.6: not closed in order, but reset.
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                client.sendall(answer)


def receive(connection):
    """One message, with what its Content-Length says; nothing at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := read(connection)):
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: *(\d+)", head, re.IGNORECASE)
    while length and len(body) < int(length[1]):
        if not (piece := read(connection)):
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


def read(connection):
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


class Client:
    """Asks until there is an answer."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.connection = None

    def ask(self, method, path):
        """The status and the body of the answer."""
        for _ in range(100):
            try:
                self.connection = self.connection or api.connect(self.port)
                self.connection.request(method, path, headers={"Authorization": self.token})
                response = self.connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self.connection.close()
                self.connection = None
        raise SystemExit(f"{method} {path} had no answer in 100 tries")


def run(options):
    failures = []
    with rig.Rig(options.sealpost, role="publisher") as site:
        for name in READERS:
            site.add_user(name)
        daemon, _ = site.serve()
        with contextlib.closing(site.connect()) as connection:
            tokens = {name: api.sign_in(connection, name) for name in ("alice", *READERS)}
        # Every reader has some of both.
        notices = [Notice(number, options.quick or number // len(READERS) % 2 == 0) for number in range(options.count)]
        crew.together(lambda part: post(site, tokens, notices[part::4]), range(4))
        sealed = look_up(site, notices)
        if search(site, sealed.values()) != len(notices):
            raise SystemExit("the search does not find what is there")
        relay = Relay(site.port)
        start = time.monotonic()
        crew.together(lambda name: fetch(name, relay, tokens, notices, failures), READERS)
        end = time.monotonic()
        fetched = max((notice.fetched_at for notice in notices if not notice.is_confirmed), default=end)
        time.sleep(GRACE)
        confirmed = [sealed[notice.id] for notice in notices if notice.is_confirmed]
        if left := search(site, confirmed):
            failures.append(f"{left} of {len(confirmed)} payloads are there though all recipients have confirmed")
        # On a slow machine the first leases have ended by now.
        if time.monotonic() - start < LEASE and (left := count_payloads(site)) != len(notices) - len(confirmed):
            failures.append(f"{left} payloads are there, of which {len(confirmed)} were confirmed")
        daemon.kill()
        daemon.wait()
        daemon, _ = site.serve()
        processes.wait_until(lambda: count_payloads(site) == 0, LEASE + 60, "the end of all leases", daemon, pause=0.1)
        erased = time.monotonic() - fetched
        if erased > LEASE + GRACE:
            failures.append(f"the last payload was erased {erased:.1f} s after its last fetch")
        time.sleep(GRACE)
        if left := search(site, sealed.values()):
            failures.append(f"{left} payloads are in the database or its log")
        crew.together(lambda part: look_again(site, tokens, notices[part::4], failures), range(4))
        code, _ = processes.terminate(daemon)
        if code != 0:
            failures.append(f"the daemon ended with {code}")
    for failure in failures[:20]:
        print(failure)
    readings = sum(len(notice.readers) for notice in notices)
    print(
        f"{options.count} payloads, {readings} readers, {relay.cut} of {relay.answers} answers cut off: "
        f"{len(failures)} failures (0); read within {end - start:.1f} s, the last erased "
        f"{erased:.1f} s after its last fetch (at most {LEASE + GRACE})"
    )
    if failures:
        raise SystemExit(1)


def post(site, tokens, notices):
    connection = site.connect()
    for notice in notices:
        order = {"Payload": notice.payload, "To": [f"username:{name}" for name in notice.readers], "ReadOnce": True}
        notice.id = api.post(connection, order, credentials=tokens["alice"])
    connection.close()


def fetch(name, relay, tokens, notices, failures):
    """Fetches all that is for a reader, over the relay, and confirms half of it."""
    client = Client(relay.port, tokens[name])
    for notice in notices:
        if name not in notice.readers:
            continue
        status, body = client.ask("GET", notice.path)
        notice.fetched_at = time.monotonic()
        if status != 200 or json.loads(body)["Payload"] != notice.payload:
            failures.append(f"{name} got {status} {body[:200]} for {notice.path}")
        if not notice.is_confirmed:
            continue
        # Again, though the first answer may have been the one.
        for _ in range(2):
            status, body = client.ask("POST", f"{notice.path}/taken")
            if status != 204:
                failures.append(f"{name} got {status} {body[:200]} for confirming {notice.path}")
        if (status := client.ask("GET", notice.path)[0]) != 404:
            failures.append(f"{name} got {status} for {notice.path} after having confirmed it")


def look_again(site, tokens, notices, failures):
    """After its end, for all recipients: nothing is there any more, and to confirm it late is no error."""
    clients = {name: Client(site.port, tokens[name]) for name in READERS}
    for notice in notices:
        for name in notice.readers:
            answers = [clients[name].ask("GET", notice.path)[0], clients[name].ask("POST", f"{notice.path}/taken")[0]]
            if answers != [404, 204]:
                failures.append(f"{name} got {answers} for {notice.path} after its end")


# MARK: The database

def database(site):
    return sqlite3.connect(f"file:{site.folder}/var/sealpost.db?mode=ro", uri=True, timeout=60)


def look_up(site, notices):
    """A part of each payload as it was sealed: eight bytes of its nonce, behind the format and the key's number."""
    connection = database(site)
    sealed = dict(connection.execute("select id, substr(payload, 6, 8) from notification"))
    connection.close()
    return {notice.id: sealed[notice.id] for notice in notices}


def count_payloads(site):
    connection = database(site)
    count = connection.execute("select count(*) from notification where payload is not null").fetchone()[0]
    connection.close()
    return count


def search(site, parts):
    """How many of these are in the bytes of the database or its log."""
    parts = set(parts)
    found = set()
    for name in ("sealpost.db", "sealpost.db-wal"):
        bytes = (site.folder / "var" / name).read_bytes()
        found.update(part for start in range(len(bytes) - 7) if (part := bytes[start : start + 8]) in parts)
    return len(found)
