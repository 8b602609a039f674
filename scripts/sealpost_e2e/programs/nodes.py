"""Several daemons share one PostgreSQL, and are killed (kill -9) at random instants while clients post and fetch.

A ledger outside the daemons has what was acknowledged. Of that, each notification must be there with its own payload on every
daemon, and each device must have got its push at the simulated APNs; a push that came twice must carry the same apns-id, and there
may be no more of them than were leased by a daemon when it was killed. A post whose answer never came may be there or not. At the
end the database itself is killed and started again, before all that was acknowledged is fetched.

With `--forget` the ledger has one entry more for each kill, which was never posted: then the program must fail.
"""

import collections
import http.client
import random
import secrets
import socket
import threading
import time

from sealpost_e2e import api, outbox, postgresql, processes

USERS = 50
# Seconds: how long the other daemons may remember a session that one has ended.
REVOKED = 5.0


class Site(outbox.Outbox):
    """Daemons with one database and one keyring, each with a socket of its own."""

    def __init__(self, sealpost, cluster, count):
        super().__init__(sealpost, DATABASE=cluster.url)
        self.cluster = cluster
        self.sockets = [self.socket] + [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(count - 1)]
        self.ports = [held.getsockname()[1] for held in self.sockets]
        self.daemons = [None] * count
        self.handles = {}

    def begin(self, number):
        """Starts a daemon, and waits until it serves."""
        # What is started by socket activation is handed this socket.
        self.socket = self.sockets[number]
        self.daemons[number], _ = self.serve()

    def kill(self, number):
        self.daemons[number].kill()
        self.daemons[number].wait()

    def register(self, name):
        """Registers a device of a user; its handle is remembered by its registration's id."""
        connection = api.connect(self.ports[0])
        credentials = api.sign_in(connection, name)
        handle = secrets.token_hex(32)
        id = api.ask(connection, "POST", "/api/register", credentials=credentials)
        api.ask(connection, "PUT", f"/api/register/{id}", {"Platform": "apns", "Handle": handle}, credentials)
        self.handles[id] = handle
        return credentials

    def leased(self):
        """How many pushes are leased to a daemon."""
        return int(self.cluster.query("select count(*) from push where owner is not null")[0][0])

    def is_settled(self):
        return not int(self.cluster.query("select count(*) from push where due_at is not null")[0][0])


class Ledger:
    """What clients were told, and what they were told wrongly."""

    def __init__(self):
        self.lock = threading.Lock()
        self.posted = {}
        self.faults = []
        self.counts = collections.Counter()

    def fault(self, text):
        with self.lock:
            self.faults.append(text)


class Clients:
    """Threads that post, and fetch what was posted, each time at another daemon, until they are told to stop."""

    def __init__(self, site, ledger, credentials, posters, fetchers):
        self.site, self.ledger, self.credentials = site, ledger, credentials
        self.ends = threading.Event()
        work = [self.post] * posters + [self.fetch] * fetchers
        self.threads = [threading.Thread(target=self.run, args=(one, number)) for number, one in enumerate(work)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()

    def run(self, work, seed):
        chance, connections = random.Random(seed), {}
        while not self.ends.is_set():
            port = chance.choice(self.site.ports)
            try:
                # A socket is held here while its daemon is dead: a request waits for the next one, but no longer than this.
                connection = connections.setdefault(port, api.connect(port, timeout=20))
                work(connection, chance)
            except api.UnexpectedAnswer as answer:
                connections.pop(port).close()
                # The database's row locks and a full queue are told as busy.
                if " 503 " in str(answer) or " 429 " in str(answer):
                    self.ledger.counts["refused"] += 1
                else:
                    self.ledger.fault(str(answer))
            except (OSError, http.client.HTTPException):
                connections.pop(port).close()
                self.ledger.counts["lost"] += 1

    def post(self, connection, chance):
        user, payload = f"user{chance.randrange(USERS)}", secrets.token_hex(16)
        id = api.post(connection, {"Payload": payload, "To": [f"username:{user}"]}, credentials=self.credentials["alice"])
        with self.ledger.lock:
            self.ledger.posted[id] = (user, payload)

    def fetch(self, connection, chance):
        with self.ledger.lock:
            known = len(self.ledger.posted)
            id, (user, payload) = chance.choice(list(self.ledger.posted.items())[-500:]) if known else (None, (None, None))
        if id is None:
            return time.sleep(0.01)
        if api.fetch(connection, id, credentials=self.credentials[user]) != payload:
            self.ledger.fault(f"{id} has another's payload")
        self.ledger.counts["fetched"] += 1


def add_options(parser):
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--clients", type=int, default=16, help="that post, and as many that fetch (16)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the random instants")
    parser.add_argument("--forget", action="store_true", help="the control: must fail")


def run(options):
    instants, ledger = random.Random(options.seed), Ledger()
    with postgresql.Cluster() as cluster, Site(options.sealpost, cluster, options.nodes) as site:
        names = [f"user{number}" for number in range(USERS)]
        for name in names:
            site.add_user(name)
        simulators = site.simulate()
        for number in range(options.nodes):
            site.begin(number)
        credentials = {name: site.register(name) for name in names}
        credentials["alice"] = api.sign_in(api.connect(site.ports[0]), "alice")
        begin, leased = time.monotonic(), 0
        clients = Clients(site, ledger, credentials, options.clients, options.clients)
        try:
            for _ in range(options.kills):
                time.sleep(instants.uniform(0.2, 1.5))
                number = instants.randrange(options.nodes)
                site.kill(number)
                leased += site.leased()
                if options.forget:
                    ledger.posted[secrets.randbits(40)] = (names[0], "never posted")
                site.begin(number)
        finally:
            clients.stop()
        seconds = time.monotonic() - begin
        start = time.monotonic()
        processes.wait_until(site.is_settled, 120, "the end of the outbox", site.daemons[0], pause=0.2)
        takeover = time.monotonic() - start
        cluster.kill()
        processes.wait_until(lambda: not any(map(is_ready, site.ports)), 15, "the daemons' notice that the database is gone", pause=0.2)
        cluster.start()
        processes.wait_until(lambda: all(map(is_ready, site.ports)), 15, "the daemons' notice that it is back", pause=0.2)
        missing = sum(is_missing(site, number, ledger, credentials) for number in range(options.nodes))
        lasted = revoke(site)
        for daemon in site.daemons:
            processes.terminate(daemon)
        site.await_log(simulators)
        unpushed, foreign, twice = compare(site, ledger)
    print(
        f"{options.kills} kills of {options.nodes} daemons in {seconds:.0f} s (seed {options.seed}): {len(ledger.posted)} notifications "
        f"acknowledged, {missing} of them missing, {unpushed} without their push, {foreign} pushes with another id, {twice} sent twice of "
        f"{leased} that were leased at a kill; the outbox was empty {takeover:.1f} s after the last post; {ledger.counts['fetched']} "
        f"fetches, {len(ledger.faults)} wrong answers, {ledger.counts['lost']} connections lost, {ledger.counts['refused']} refused as busy; a session that one daemon ended was good for "
        f"{lasted:.1f} s at the others (at most {REVOKED:.0f})"
    )
    for fault in ledger.faults[:5]:
        print(fault)
    if missing or unpushed or foreign or ledger.faults or twice > leased or lasted > REVOKED:
        raise SystemExit(1)


def is_ready(port):
    """What /readyz says: while the database does not answer, a proxy must send nothing here."""
    try:
        return bool(api.ask(api.connect(port), "GET", "/readyz"))
    except api.UnexpectedAnswer:
        return False


def is_missing(site, number, ledger, credentials):
    """How many acknowledged notifications a daemon does not give to their recipients."""
    connection, missing = api.connect(site.ports[number]), 0
    # Each daemon is asked for a part, so that all is asked for once.
    for id, (user, payload) in list(ledger.posted.items())[number :: len(site.ports)]:
        try:
            missing += api.fetch(connection, id, credentials=credentials[user]) != payload
        except api.UnexpectedAnswer:
            missing += 1
    return missing


def revoke(site):
    """Seconds for which a session that the first daemon ended is good at the others, which have just seen it."""
    first, *others = [api.connect(port) for port in site.ports]
    credentials = api.sign_in(first, "user0")
    for connection in others:
        api.ask(connection, "GET", "/api/notifications", credentials=credentials)
    api.ask(first, "DELETE", "/api/sessions/current", credentials=credentials)
    start = last = time.monotonic()
    while time.monotonic() - start < 2 * REVOKED:
        for connection in others:
            try:
                api.ask(connection, "GET", "/api/notifications", credentials=credentials)
                last = time.monotonic()
            except api.UnexpectedAnswer as answer:
                if " 401 " not in str(answer):
                    raise
        time.sleep(0.05)
    return last - start


def compare(site, ledger):
    """How many acknowledged notifications lack a push, how many pushes have another id, and how many came twice."""
    seeds = {int(id): int(seed) for id, seed in site.cluster.query("select id, seed from notification")}
    devices = {id: int(number) for id, number in site.cluster.query("select id, number from device")}
    users = {int(id): int(device) for id, device in site.cluster.query("select notification_id, device from push_end")}
    handles = {devices[id]: handle for id, handle in site.handles.items()}
    expected = {outbox.apns_id(seed, users[id]): handles[users[id]] for id, seed in seeds.items() if id in users}
    got, foreign = collections.Counter(), 0
    for _, push, outcome, handle in site.received():
        if outcome == "200" and expected.get(push) == handle:
            got[push] += 1
        else:
            foreign += 1
    unpushed = sum(
        1 for id in ledger.posted if id not in users or not got[outbox.apns_id(seeds[id], users[id])]
    )
    return unpushed, foreign, sum(got.values()) - len(got)
