"""How many sign-ins a second two servers on one PostgreSQL answer, as a ratio to one of them.

A sign-in by password that no server remembers costs Argon2id, and next to nothing in the database: what is measured is whether a
second server adds what it has. Each has one event loop, and so one thread that hashes; on two cores, a fetch would measure
the cores only, which one server with two loops uses already. A round signs new users in at one server, and as many at two in turn.

Fails if the median of the rounds is below 1.6. Bounded: rounds x 3 x users sign-ins.
"""

import concurrent.futures
import statistics
import threading
import time

from sealpost_e2e import api, postgresql, processes, several

LIMIT = 1.6
CLIENTS = 8


class Servers(several.Site):
    """Two servers with one loop each, and users who have never signed in."""

    def __init__(self, sealpost, cluster):
        super().__init__(sealpost, cluster, 2)
        self.configuration.write_text("server: {loops: 1}\n")
        self.add_user("ada", "admin")
        for number in range(2):
            self.begin(number)
        self.made, self.local = 0, threading.local()

    def make_users(self, count):
        """The names of new users."""
        names = [f"user{number}" for number in range(self.made, self.made + count)]
        self.made += count
        def make(number):
            order = {"Name": names[number], "Password": api.PASSWORD, "Role": "device"}
            api.ask(self.connection(number % 2), "POST", "/api/users", order, api.basic("ada"))

        self.all_at_once(make, count)
        return names

    def sign_in(self, names, servers):
        """Sign-ins a second, at the first servers in turn."""
        start = time.monotonic()
        self.all_at_once(lambda number: api.sign_in(self.connection(number % servers), names[number]), len(names))
        return len(names) / (time.monotonic() - start)

    def all_at_once(self, act, count):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(act, range(count)))

    def connection(self, place):
        """The thread's own connection to a server."""
        connections = self.local.__dict__.setdefault("connections", {})
        if place not in connections:
            connections[place] = api.connect(self.ports[place])
        return connections[place]


def add_options(parser):
    parser.add_argument("--rounds", type=int, default=15, help="short ones, as what else a machine does changes by the second (15)")
    parser.add_argument("--users", type=int, default=60, help="of a measurement (60)")


def run(options):
    with postgresql.Cluster() as cluster, Servers(options.sealpost, cluster) as servers:
        ratios = []
        for number in range(1, options.rounds + 1):
            names = servers.make_users(2 * options.users)
            rates = {}
            # In turn, so that a machine that gets slower or faster favours neither.
            for count in (1, 2) if number % 2 else (2, 1):
                rates[count] = servers.sign_in([names.pop() for _ in range(options.users)], count)
            one, two = rates[1], rates[2]
            ratios.append(two / one)
            print(f"round {number}: {two / one:.2f}  (sign-ins a second: two {two:.0f}, one {one:.0f})", flush=True)
        for daemon in servers.daemons:
            processes.terminate(daemon)
    median = statistics.median(ratios)
    print(f"two servers / one, median of {len(ratios)}: {median:.2f} (at least {LIMIT})")
    if median < LIMIT:
        raise SystemExit(1)
