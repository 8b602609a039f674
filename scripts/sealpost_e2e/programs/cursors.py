"""Readers follow lists by cursor on several daemons, while notifications are posted, marked as read and dismissed there.

Each notification goes to several users at once, so that transactions of all daemons meet at the same users' lists. Each reader follows one
user, each page from another daemon, and keeps what the pages say. In the end it must have each change of that user, and none may have
come twice. Changes of one notification follow each other (posted, read, dismissed); a later one may stand for an earlier one.

With `--sequence` the readers follow a table in the same database whose numbers come from a sequence, drawn before the commit: then the
program must fail.
"""

import collections
import functools
import http.client
import random
import secrets
import subprocess
import threading
import time

from sealpost_e2e import api, crew, postgresql, several

POSTED, READ, DISMISSED = range(3)


def add_options(parser):
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--changes", type=int, default=50_000, help="(50,000)")
    parser.add_argument("--audience", type=int, default=10, choices=range(1, 21), metavar="1-20", help="users to whom each notification goes (10)")
    parser.add_argument("--readers", type=int, default=200, help="(200)")
    parser.add_argument("--writers", type=int, default=16, help="clients that change (16)")
    parser.add_argument("--threads", type=int, default=8, help="that the readers share (8)")
    parser.add_argument("--sequence", action="store_true", help="the control: must fail")


def run(options):
    if options.sequence:
        return follow_sequence(options)
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, options.nodes) as site:
        simulators, credentials = site.prepare(devices=False)
        ledger, ends = Ledger(options.changes), threading.Event()
        readers = [Reader(f"user{number % several.USERS}") for number in range(options.readers)]
        followers = [
            functools.partial(follow, site, readers[number :: options.threads], credentials, ends, ledger)
            for number in range(options.threads)
        ]
        start = time.monotonic()
        with crew.Crew(*followers, ends=ends):
            crew.together(lambda seed: Writer(site, ledger, credentials, options.audience, seed).run(), range(options.writers))
            seconds = time.monotonic() - start
        simulators.kill()
        several.show(ledger.faults, site)
    missed = sum(reader.missed(ledger) for reader in readers)
    doubled = sum(reader.doubled for reader in readers)
    seen = sum(reader.seen for reader in readers)
    pages = sum(reader.pages for reader in readers)
    print(
        f"{ledger.count} changes of {several.USERS} users on {options.nodes} daemons in {seconds:.0f} s by {options.writers} clients, "
        f"{ledger.uncertain} with an unknown outcome; {options.readers} readers got {seen} changes on {pages} pages, each from any daemon: "
        f"{missed} missed, {doubled} doubled; {len(ledger.faults)} wrong answers"
    )
    if missed or doubled or ledger.faults:
        raise SystemExit(1)


class Ledger:
    """What was answered: for each user the state of each notification; what is not known is `None`."""

    def __init__(self, most):
        self.lock = threading.Lock()
        self.most, self.count, self.uncertain = most, 0, 0
        self.states = collections.defaultdict(dict)
        self.faults = []

    def note(self, users, ids, state):
        with self.lock:
            for user in users:
                for id in ids:
                    self.states[user][id] = state
            if state is None:
                self.uncertain += len(users) * len(ids)
            else:
                self.count += len(users) * len(ids)

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    @property
    def is_full(self):
        """Whether there is enough, or far too much went wrong."""
        return self.count >= self.most or len(self.faults) > 100


class Writer:
    """A client that posts, and changes in the name of the recipients what it has posted, so that it knows the order."""

    def __init__(self, site, ledger, credentials, audience, seed):
        self.site, self.ledger, self.credentials, self.audience = site, ledger, credentials, audience
        self.chance = random.Random(seed)
        # By user and state, the notifications.
        self.known = {state: collections.defaultdict(list) for state in (POSTED, READ)}

    def run(self):
        connections = {}
        while not self.ledger.is_full:
            port = self.chance.choice(self.site.ports)
            connection = connections.setdefault(port, api.connect(port))
            work = self.chance.choices([self.post, self.read, self.dismiss], [4, 4, 3])[0]
            try:
                work(connection)
            except (OSError, http.client.HTTPException) as error:
                connections.pop(port).close()
                if isinstance(error, api.UnexpectedAnswer) and " 503 " not in str(error):
                    self.ledger.fault(str(error))

    def post(self, connection):
        users = self.chance.sample([f"user{number}" for number in range(several.USERS)], self.audience)
        order = {"Payload": secrets.token_hex(8), "To": [f"username:{user}" for user in users]}
        id = str(api.post(connection, order, credentials=self.credentials["alice"]))
        self.ledger.note(users, [id], POSTED)
        for user in users:
            self.known[POSTED][user].append(id)

    def read(self, connection):
        user, ids = self.take(POSTED, self.audience)
        if ids:
            body = {"Ids": [int(id) for id in ids]}
            self.change(connection, user, ids, READ, "POST", "/api/notifications/read", body)
            self.known[READ][user] += ids

    def dismiss(self, connection):
        user, ids = self.take(self.chance.choice((POSTED, READ)), 1)
        if ids:
            self.change(connection, user, ids, DISMISSED, "DELETE", f"/api/notifications/{ids[0]}")

    def take(self, state, most):
        user = f"user{self.chance.randrange(several.USERS)}"
        ids = self.known[state][user]
        self.known[state][user] = ids[most:]
        return user, ids[:most]

    def change(self, connection, user, ids, state, *request):
        try:
            api.ask(connection, *request, credentials=self.credentials[user])
        except BaseException:
            self.ledger.note([user], ids, None)
            raise
        self.ledger.note([user], ids, state)


class Reader:
    """Follows a user's list, and keeps what it was told."""

    def __init__(self, user):
        self.user, self.cursor = user, None
        self.states = {}
        self.seen = self.doubled = self.pages = 0

    def advance(self, connection, credentials):
        """Reads the next page. Whether there may be more."""
        path = "/api/notifications?limit=500" + (f"&cursor={self.cursor}" if self.cursor else "")
        page = api.ask(connection, "GET", path, credentials=credentials[self.user])
        for item in page["Notifications"]:
            self.take(str(item["Id"]), READ if item.get("Read") else POSTED)
        for id in page.get("Deleted") or []:
            self.take(str(id), DISMISSED)
        self.cursor = page["Cursor"] or self.cursor
        self.pages += 1
        return page["More"]

    def take(self, id, state):
        self.seen += 1
        # Later changes only: what comes again was told before.
        self.doubled += self.states.get(id, -1) >= state
        self.states[id] = state

    def missed(self, ledger):
        expected = ledger.states[self.user]
        return sum(
            1 for id, state in expected.items()
            # Without a cursor there is no word of what was dismissed before.
            if state is not None and self.states.get(id, DISMISSED if state == DISMISSED else None) != state
        )


def follow(site, readers, credentials, ends, ledger):
    """Advances readers in turn, until nothing changes any more and each has come to the end."""
    chance, connections = random.Random(), {}
    while True:
        is_last = ends.is_set()
        for reader in readers:
            while True:
                port = chance.choice(site.ports)
                try:
                    if not reader.advance(connections.setdefault(port, api.connect(port)), credentials):
                        break
                except (OSError, http.client.HTTPException) as error:
                    connections.pop(port).close()
                    if isinstance(error, api.UnexpectedAnswer) and " 503 " not in str(error):
                        return ledger.fault(str(error))
        if is_last:
            return


def follow_sequence(options):
    """Follows a table by the numbers of a sequence, which transactions draw before they commit."""
    with postgresql.Cluster() as cluster, postgresql.Session(cluster) as session:
        cluster.query("create table change (number bigint generated always as identity primary key)")
        script = cluster.folder / "insert.sql"
        script.write_text("insert into change default values;\n")
        script.chmod(0o644)
        each = options.changes // options.writers
        writers = subprocess.Popen(
            [postgresql.find("pgbench"), *cluster.address, "-n", "-f", str(script), "-c", str(options.writers),
                "-t", str(each), postgresql.NAME],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        seen = last = 0
        is_last = False
        while not is_last:
            is_last = writers.poll() is not None
            [[count, newest]] = session.query(f"select count(*), coalesce(max(number), {last}) from change where number > {last}")
            seen, last = seen + int(count), int(newest)
        stored = int(cluster.query("select count(*) from change")[0][0])
    print(f"{stored} changes by {options.writers} clients, numbered by a sequence: {stored - seen} missed")
    if stored != seen:
        raise SystemExit(1)
