"""Common parts of the programs with several daemons on one database: a ledger, clients, the comparison."""

import collections
import functools
import http.client
import random
import secrets
import signal
import socket
import threading
import time

from sealpost_e2e import api, crew, outbox, processes

USERS = 50


class Site(outbox.Outbox):
    """Daemons with one database and one keyring, each with its own socket."""

    def __init__(self, sealpost, cluster, count):
        super().__init__(sealpost, DATABASE=cluster.url)
        self.cluster = cluster
        self.sockets = [self.socket] + [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(count - 1)]
        self.ports = [held.getsockname()[1] for held in self.sockets]
        self.daemons = [None] * count
        self.since = [0.0] * count  # The time when each of them began to serve.
        self.handles = {}

    def prepare(self):
        """Starts simulators, and daemons for users with a device. Returns the simulators' process and credentials."""
        names = [f"user{number}" for number in range(USERS)]
        for name in names:
            self.add_user(name)
        simulators = self.simulate()
        self.begin_all()
        credentials = {name: self.register(name) for name in names}
        return simulators, credentials | {"alice": api.sign_in(api.connect(self.ports[0]), "alice")}

    def begin(self, number):
        """Starts a daemon, and waits until it serves."""
        self.socket = self.sockets[number]  # Socket activation passes this socket to the daemon.
        self.daemons[number], _ = self.serve()
        self.since[number] = time.monotonic()

    def begin_all(self):
        for number in range(len(self.ports)):
            self.begin(number)

    def kill(self, number):
        processes.kill(self.daemons[number])

    def freeze(self, number):
        self.daemons[number].send_signal(signal.SIGSTOP)

    def thaw(self, number):
        self.daemons[number].send_signal(signal.SIGCONT)
        self.since[number] = time.monotonic()

    def register(self, name):
        """Registers a device of a user, and keeps its handle by the registration's id."""
        connection = api.connect(self.ports[0])
        credentials = api.sign_in(connection, name)
        handle = secrets.token_hex(32)
        self.handles[api.register(connection, credentials, Platform="apns", Handle=handle)] = handle
        return credentials

    def leased(self, number):
        """The pushes that are leased to a daemon, each as notification and device."""
        # A process may have had several numbers.
        return {(int(notification), int(device)) for notification, device in self.cluster.query(
            "select notification_id, device from push join node on node.number = push.owner "
            f"where node.name like '% {self.daemons[number].pid}'"
        )}

    def pending(self, pushes):
        """The number of these pushes that have not ended."""
        rows = ", ".join(f"({notification}, {device})" for notification, device in pushes)
        return int(self.cluster.query(
            f"select count(*) from push where due_at is not null and (notification_id, device) in ({rows})"
        )[0][0]) if pushes else 0

    def is_settled(self):
        return not int(self.cluster.query("select count(*) from push where due_at is not null")[0][0])


class Ledger:
    """The answers to the clients, and the wrong ones among them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.posted = {}
        self.times = []  # The start and the acknowledgement of each acknowledged post.
        self.faults = []
        self.counts = collections.Counter()

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def first_after(self, instant):
        """The first acknowledgement of a post that began after an instant, or `None`."""
        with self.lock:
            return min((end for begin, end in self.times if begin > instant), default=None)


class Clients(crew.Crew):
    """Threads that post and fetch, each time at another daemon, until they are stopped."""

    def __init__(self, site, ledger, credentials, posters, fetchers):
        self.site, self.ledger, self.credentials = site, ledger, credentials
        works = [self.post] * posters + [self.fetch] * fetchers
        super().__init__(*(functools.partial(self.run, work, number) for number, work in enumerate(works)))

    def run(self, work, seed):
        chance, connections = random.Random(seed), {}
        while not self.ends.is_set():
            port = chance.choice(self.site.ports)
            try:
                # The socket of a dead daemon stays open: a request waits for the next one up to this timeout.
                connection = connections.setdefault(port, api.connect(port, timeout=20))
                work(connection, chance)
            except api.UnexpectedAnswer as answer:
                connections.pop(port).close()
                # The server answers 503 at a lock of the database and with a full queue.
                if " 503 " in str(answer) or " 429 " in str(answer):
                    self.ledger.counts["refused"] += 1
                else:
                    self.ledger.fault(str(answer))
            except (OSError, http.client.HTTPException):
                connections.pop(port).close()
                self.ledger.counts["lost"] += 1

    def post(self, connection, chance):
        user, payload = f"user{chance.randrange(USERS)}", secrets.token_hex(16)
        begin = time.monotonic()
        id = api.post(connection, {"Payload": payload, "To": [f"username:{user}"]}, credentials=self.credentials["alice"])
        with self.ledger.lock:
            self.ledger.posted[id] = (user, payload)
            self.ledger.times.append((begin, time.monotonic()))

    def fetch(self, connection, chance):
        with self.ledger.lock:
            known = len(self.ledger.posted)
            id, (user, payload) = chance.choice(list(self.ledger.posted.items())[-500:]) if known else (None, (None, None))
        if id is None:
            return time.sleep(0.01)
        if api.fetch(connection, id, credentials=self.credentials[user]) != payload:
            self.ledger.fault(f"{id} has another's payload")
        self.ledger.counts["fetched"] += 1


def missing(site, number, ledger, credentials):
    """The number of acknowledged notifications that a daemon does not give to their recipients."""
    connection, count = api.connect(site.ports[number]), 0
    # Each daemon serves a part, so that each notification is fetched once.
    for id, (user, payload) in list(ledger.posted.items())[number :: len(site.ports)]:
        try:
            count += api.fetch(connection, id, credentials=credentials[user]) != payload
        except api.UnexpectedAnswer:
            count += 1
    return count


def conclude(site, ledger, credentials, simulators):
    """Ends the daemons. Returns the numbers of lost notifications, missing and foreign pushes, and the duplicates."""
    lost = sum(missing(site, number, ledger, credentials) for number in range(len(site.ports)))
    for daemon in site.daemons:
        processes.terminate(daemon)
    site.await_log(simulators)
    found = compare(site, ledger)
    show(ledger.faults, site)
    return lost, *found


def tell(ledger):
    """The ledger's counts of answers."""
    return (
        f"{ledger.counts['fetched']} fetches, {len(ledger.faults)} wrong answers, {ledger.counts['lost']} connections lost, "
        f"{ledger.counts['refused']} refused as busy"
    )


def show(faults, site):
    """Prints the first wrong answers, and the failures in the daemons' log."""
    for fault in faults[:5]:
        print(fault)
    for line in [line for line in site.read_log().decode().splitlines() if faults and "level=error" in line][-10:]:
        print(line)


def compare(site, ledger):
    """The numbers of notifications without a push and of pushes with another id, and the duplicates."""
    seeds = {int(id): int(seed) for id, seed in site.cluster.query("select id, seed from notification")}
    devices = {id: int(number) for id, number in site.cluster.query("select id, number from device")}
    users = {int(id): int(device) for id, device in site.cluster.query("select notification_id, device from push_end")}
    handles = {devices[id]: handle for id, handle in site.handles.items()}
    ids = {outbox.apns_id(seed, users[id]): id for id, seed in seeds.items() if id in users}
    expected = {push: handles[users[id]] for push, id in ids.items()}
    got, foreign = collections.Counter(), 0
    for *_, push, outcome, handle in site.received():
        if outcome == "200" and expected.get(push) == handle:
            got[push] += 1
        else:
            foreign += 1
    unpushed = sum(1 for id in ledger.posted if id not in users or not got[outbox.apns_id(seeds[id], users[id])])
    return unpushed, foreign, {(ids[push], users[ids[push]]) for push, count in got.items() if count > 1}
