"""The cost of each operation in large tables: it must depend on the answer alone.

Three daemons have databases with 1,000, 100,000 and 10,000,000 notifications, and 1,000, 30,000 and 1,000,000 devices of as many
users. Each round runs every operation on all three; the median of the rounds' ratios to the smallest may be at most 1.25. For
cleanup, the bench compares the daemon's CPU time. Then 100,000 posts have one collapse key: the last thousand may take 1.2 times
as long as the first, each relative to posts without a key at the same time.
"""

import re
import statistics
import time

from sealpost_e2e import api, figures, outbox, processes, require

SIZES = {"10^3": (1000, 1000), "10^5": (100_000, 30_000), "10^7": (10_000_000, 1_000_000)}
RATIO, COLLAPSE_RATIO = 1.25, 1.2

FILL = """
insert into account (name, name_key, role, password, created_at)
    select zeroblob(40), randomblob(16), 'device', '', 0 from number where n <= :devices;
insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, mac)
    select randomblob(32), 'x' || n, n + 2, 0, 'fetch', :now, :now + 100000000, 0 from number where n <= :devices;
insert into device (id, user_id, platform, lane, handle, handle_key, tags, created_at, registered_at)
    select 'device' || n, n + 2, 'apns', 'apns', zeroblob(60), randomblob(16), zeroblob(60), 0, 0
    from number where n <= :devices;
insert into device_tag (device, tag) select number, randomblob(16) from device;
insert into device_push (device, accepted_at) select number, :now from device;
insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at,
        expires_at, payload)
    select n * 200, 1, 1, 0, 'high', n, n, :now, :now + 100000000 + n, zeroblob(60) from number;
insert into recipient (notification_id, user_id, change, changed_at, mac)
    select n * 200, n % :devices + 3, n, :now, 0 from number;
insert into push (notification_id, device, user_id, lane, is_bulk, state, due_at, settled_at)
    select n * 200, n % :devices + 1, n % :devices + 3, 'apns', 0, case when n <= :queued then 'queued' else 'accepted' end,
        :now, case when n <= :queued then null else :now end
    from number;
insert into tally (lane, state, count) values ('apns', 'enqueued', :notifications),
    ('apns', 'accepted', :notifications - :queued);
"""
OPTIONS = {"--rounds": (7, "rounds"), "--sizes": {"nargs": "+", "default": list(SIZES), "choices": list(SIZES)}}


class Site(outbox.Outbox):
    """A daemon on a database of that size."""

    def __init__(self, sealpost, name):
        super().__init__(sealpost, LOG_LEVEL="info")
        self.add_user("ada", "admin")
        self.configuration.write_text("senders: {stream: {type: stream}}\n")
        self.name, (self.notifications, self.devices) = name, SIZES[name]

    def fill(self):
        with self.database() as database:
            numbers = {"now": outbox.milliseconds(), "notifications": self.notifications, "devices": self.devices,
                "queued": min(self.notifications // 100, 100_000)}
            for pragma in ("synchronous = off", "cache_size = -1000000", "temp_store = memory", "foreign_keys = off"):
                database.execute(f"pragma {pragma}")
            # Creates the indexes at the end, in their order.
            indexes = database.execute("select name, sql from sqlite_schema where type = 'index' and sql is not null").fetchall()
            for name, _ in indexes:
                database.execute(f"drop index {name}")
            database.execute("create temporary table number (n integer primary key)")
            with outbox.transaction(database):
                database.execute(
                    "insert into number with recursive c(n) as (select 1 union all select n + 1 from c where n < ?) select n from c",
                    [max(self.notifications, self.devices)],
                )
                for statement in FILL.split(";\n"):
                    bounded = statement if "where n <=" in statement else statement.replace("from number", "from number where n <= :notifications")
                    database.execute(bounded, numbers)
            for _, sql in indexes:
                database.execute(sql)
            database.execute("analyze sqlite_schema")
            database.execute("pragma wal_checkpoint(truncate)")

    def begin(self):
        self.process, _ = self.serve()
        self.connection = api.connect(self.port, timeout=300)
        self.credentials = api.sign_in(self.connection, "alice")
        self.administrator = api.sign_in(self.connection, "ada", "manage")
        api.register(self.connection, self.credentials, Platform="stream")
        self.ids = [post(self) for _ in range(100)]
        self.unread = []

    def reconnect(self, last=None):
        """Opens the event stream, and returns it with its first lines read."""
        stream = self.connect()
        fields = {"Authorization": self.credentials} | ({"Last-Event-ID": str(last)} if last else {})
        stream.request("GET", "/api/stream", headers=fields)
        return stream, stream.getresponse()


def ask(site, method, path, body=None, credentials=None):
    return api.ask(site.connection, method, path, body, credentials or site.credentials)


def post(site, **options):
    return api.post(site.connection, {"Payload": "x", **options}, credentials=site.credentials)


def metric(site, name):
    text = ask(site, "GET", "/metrics", credentials=site.administrator)
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? ([\d.e+]+)$", text, re.M))


# The operations. Each does its work `count` times and returns nothing.
def posts(site, count):
    site.unread += [post(site) for _ in range(count)]


def posts_with_key(site, count):
    for _ in range(count):
        post(site, CollapseKey="growth")


def first_fetches(site, count):
    for _ in range(count):
        ask(site, "GET", f"/api/notifications/{site.unread.pop()}")


def receipts(site, count):
    """First fetches until all their receipts are written."""
    first_fetches(site, count)
    while metric(site, "sealpost_receipts_waiting"):
        pass


def reading(path, is_administrative=False):
    """An operation that requests a path; `{}` stands for a notification's id."""
    def read(site, count):
        for number in range(count):
            ask(site, "GET", path.format(site.ids[number % 100]), credentials=site.administrator if is_administrative else None)
    return read


def pushes(site, count):
    """Posts, leases and settlements, through an event stream."""
    stream, response = site.reconnect()
    for _ in range(count):
        await_push(site, response)
    stream.close()


def await_push(site, response):
    """Posts, and waits for the event: a push that comes just before its stream is known arrives after later ones."""
    id = post(site)
    while f'"{id}"'.encode() not in response.readline():
        pass
    return id


def reconnects(site, count):
    """A reconnected stream gets the notification after the last one that it has seen."""
    stream, response = site.reconnect()
    last, lost = await_push(site, response), await_push(site, response)
    stream.close()
    # The server settles the pushes some milliseconds after the event.
    time.sleep(0.2)
    start = time.monotonic()
    for _ in range(count):
        stream, response = site.reconnect(last)
        while f'"{lost}"'.encode() not in response.readline():
            pass
        stream.close()
        time.sleep(0.05)
    site.elapsed = (time.monotonic() - start - 0.05 * count)


OPERATIONS = {
    "posts": (posts, 200), "posts_with_key": (posts_with_key, 100), "first_fetches": (first_fetches, 100), "receipts": (receipts, 100),
    "fetches": (reading("/api/notifications/{}"), 200), "lists": (reading("/api/notifications?limit=50"), 50),
    "tokens": (reading("/api/tokens?user=alice", is_administrative=True), 100),
    "deliveries": (reading("/api/notifications/{}/deliveries"), 100), "pushes": (pushes, 50), "reconnects": (reconnects, 5),
}


def compare(name, sites, times, scale, unit):
    """Prints the median of the rounds' ratios to the smallest site. Returns the worst."""
    first = times[sites[0].name]
    ratios = {site.name: statistics.median(a / b for a, b in zip(times[site.name], first)) for site in sites[1:]}
    words = ", ".join(f"at {site} {ratio:.2f}" for site, ratio in ratios.items())
    print(f"{name}: {words} of {scale * statistics.median(first):.2f} {unit} at {sites[0].name}", flush=True)
    return max(ratios.values(), default=0)


def measure(sites, rounds):
    worst = 0
    for name, (operation, count) in OPERATIONS.items():
        times = {site.name: [] for site in sites}
        for number in range(rounds + 1):
            for site in sites:
                site.elapsed = None
                start = time.monotonic()
                operation(site, count)
                elapsed = site.elapsed or time.monotonic() - start
                if number:
                    times[site.name].append(elapsed / count)
        worst = max(worst, compare(name, sites, times, 1e3, "ms"))
    return worst


def starts(sites, rounds=3):
    """From the exec to the first answer, with 1,000 leased pushes to release."""
    times = {site.name: [] for site in sites}
    for _ in range(rounds):
        for site in sites:
            processes.terminate(site.process)
            with site.database() as database:
                database.execute(
                    """
                    update push set state = 'sending' where (notification_id, device) in (
                        select notification_id, device from push where state = 'queued' and lane = 'apns' limit 1000)
                    """
                )
            start = time.monotonic()
            site.process, _ = site.serve()
            times[site.name].append(time.monotonic() - start)
    for site in sites:
        print(f"start at {site.name}: {1000 * statistics.median(times[site.name]):.0f} ms", flush=True)


def delete_expired(sites, rounds=3, count=2000):
    """The CPU time of cleanup; all sites wait for it together."""
    times = {site.name: [] for site in sites}
    for site in sites:
        # The server wipes all pages of a database that another program has written, in steps.
        processes.wait_until_idle(site.process, 0.003, 600)
    for _ in range(rounds):
        before = {}
        for site in sites:
            for _ in range(count):
                post(site, ExpiresIn=5)
            before[site.name] = processes.processor_time(site.process)
        waiting = list(sites)
        time.sleep(5)
        while waiting:
            for site in list(waiting):
                if not site.read("select exists (select 1 from notification where expires_at <= ?)", outbox.milliseconds()):
                    times[site.name].append((processes.processor_time(site.process) - before[site.name]) / count)
                    waiting.remove(site)
            time.sleep(0.1)
    return compare("retention", sites, times, 1e6, "µs")


def collapse(site, count=100_000):
    """Posts with one collapse key. Returns the last thousand's cost relative to the first, by posts without a key."""
    def cost():
        keyed = plain = 0
        for _ in range(100):
            start = time.monotonic()
            posts_with_key(site, 10)
            middle = time.monotonic()
            posts(site, 10)
            keyed, plain = keyed + middle - start, plain + time.monotonic() - middle
        return keyed / plain

    first = cost()
    script = site.folder / "collapse.lua"
    script.write_text(
        f"""
        wrk.method, wrk.body = "POST", '{{"Payload":"x","CollapseKey":"growth"}}'
        wrk.headers["Authorization"] = "{site.credentials}"
        """
    )
    done = 0
    while done < count - 2000:
        rate, _ = figures.steady_load(f"http://127.0.0.1:{site.port}/api/notifications", 5, 32, 1, "--script", script)
        done += int(rate * 5)
    last = cost()
    print(f"{done + 2000} posts with one collapse key: the last thousand {last / first:.2f} of the first (at most {COLLAPSE_RATIO})")
    return last / first


def run(options):
    sites = [Site(options.sealpost, name) for name in options.sizes]
    try:
        for site in sites:
            start = time.monotonic()
            # The daemon creates the schema.
            site.fill()
            site.begin()
            print(f"filled {site.name} in {time.monotonic() - start:.0f} s", flush=True)
        worst = max(measure(sites, options.rounds), delete_expired(sites))
        print(f"the worst of all: {worst:.2f} (at most {RATIO})")
        collapsed = collapse(sites[0])
        starts(sites)
    finally:
        for site in sites:
            site.__exit__()
    require(worst <= RATIO and collapsed <= COLLAPSE_RATIO)
