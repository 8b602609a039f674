"""Sign-ins a second of two servers on one PostgreSQL, as a ratio to one server.

An uncached sign-in by password costs Argon2id and little in the database. Each server has one event loop, one thread for hashing,
and a share of a core, as on a small machine of its own; without control groups, which need root, they compete for the cores.
"""

import contextlib
import pathlib
import statistics
import threading
import time

from sealpost_e2e import api, crew, postgresql, processes, require, several

LIMIT = 1.6
CLIENTS = 8
SHARE, PERIOD = 0.4, 10_000  # Of a core, and in microseconds: a server that has used its share waits for the next period.
GROUPS = pathlib.Path("/sys/fs/cgroup")
OPTIONS = {
    "--rounds": (9, "rounds"), "--users": (40, "users of a measurement"),
    "--compete": "have the servers compete for the cores, without shares",
}


class Servers(several.Site):
    """Two servers with one loop each, and users who have never signed in."""

    def __init__(self, sealpost, cluster):
        super().__init__(sealpost, cluster, 2)
        self.configuration.write_text("server: {loops: 1}\n")
        self.add_user("ada", "admin")
        self.begin_all()
        self.made, self.local = 0, threading.local()

    def make_users(self, count):
        """Creates users. Returns their names."""
        names = [f"user{number}" for number in range(self.made, self.made + count)]
        self.made += count
        def make(number):
            order = {"Name": names[number], "Password": api.PASSWORD, "Role": "device"}
            api.ask(self.connection(number % 2), "POST", "/api/users", order, api.basic("ada"))

        crew.together(make, range(count), CLIENTS)
        return names

    def share(self):
        """Limits each server to its share of a core until it is closed; raises OSError without the right to."""
        # cgroup v1 has a tree for processors, v2 one for everything.
        is_v1 = (GROUPS / "cpu").is_dir()
        tree = GROUPS / "cpu" if is_v1 else GROUPS
        if not is_v1:
            (tree / "cgroup.subtree_control").write_text("+cpu")
        with contextlib.ExitStack() as groups:
            for daemon in self.daemons:
                group = tree / f"sealpost-bench-{daemon.pid}"
                group.mkdir()
                groups.callback(group.rmdir)
                if is_v1:
                    (group / "cpu.cfs_period_us").write_text(str(PERIOD))
                    (group / "cpu.cfs_quota_us").write_text(str(int(SHARE * PERIOD)))
                else:
                    (group / "cpu.max").write_text(f"{int(SHARE * PERIOD)} {PERIOD}")
                (group / "cgroup.procs").write_text(str(daemon.pid))
            return groups.pop_all()

    def sign_in(self, names, servers):
        """Sign-ins a second, at the first servers in turn."""
        start = time.monotonic()
        crew.together(lambda number: api.sign_in(self.connection(number % servers), names[number]), range(len(names)), CLIENTS)
        return len(names) / (time.monotonic() - start)

    def connection(self, place):
        """The thread's own connection to a server."""
        connections = self.local.__dict__.setdefault("connections", {})
        if place not in connections:
            connections[place] = api.connect(self.ports[place])
        return connections[place]


def run(options):
    with postgresql.Cluster() as cluster, Servers(options.sealpost, cluster) as servers, contextlib.ExitStack() as ending:
        means = "competing for the cores"
        if not options.compete:
            try:
                ending.enter_context(servers.share())
                means = f"{SHARE} of a core each"
            except OSError as error:
                print(f"the servers have no share of the cores each: {error}", flush=True)
        # A control group must be empty before its removal.
        for daemon in servers.daemons:
            ending.callback(processes.terminate, daemon)
        ratios = []
        for number in range(1, options.rounds + 1):
            names = servers.make_users(2 * options.users)
            rates = {}
            # Alternates the order, so that a change of the machine's pace favours neither.
            for count in (1, 2) if number % 2 else (2, 1):
                rates[count] = servers.sign_in([names.pop() for _ in range(options.users)], count)
            one, two = rates[1], rates[2]
            ratios.append(two / one)
            print(f"round {number}: {two / one:.2f}  (sign-ins a second: two {two:.1f}, one {one:.1f})", flush=True)
    median = statistics.median(ratios)
    print(f"two servers / one, {means}, median of {len(ratios)}: {median:.2f} (at least {LIMIT})")
    require(median >= LIMIT)
