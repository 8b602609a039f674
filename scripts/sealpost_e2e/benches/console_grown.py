"""Latency of each view of the console with a million devices and a hundred thousand notifications.

The bench writes encrypted users, devices and tokens into the file, posts the notifications, and sends one to all devices. Then it
requests each view's calls, also the last pages of lists, once without and once with posts meanwhile.
"""

import random
import statistics
import time
import urllib.parse

from sealpost_e2e import api, crew, figures, outbox, processes, require

SLOWEST = 0.2
EACH_USER = 2
SINGLE = 20_000
BATCH = 500
TIMES = 40  # The number of times that each view is opened.
POSTS = 200  # Posts a second during the views.
# The outcomes of the pushes of the notification to all; the others stay queued.
STATES = (("accepted", 900), ("failed", 50), ("expired", 30), ("cancelled", 10))

TOKENS = """
insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, used_at, mac)
select randomblob(32), 'spt_' || lower(hex(randomblob(4))) || printf('%06x', number), user_id, 1, 'fetch register', ?1, ?1 + 7776000000, ?1, 0
from device where id like 'apns-%'
"""
SETTLED = """
update push set state = case {cases} else state end, attempts = 1,
    reason = case when device % 1000 between 900 and 949 then 'BadDeviceToken' end,
    settled_at = case when device % 1000 < {last} then ?2 end, due_at = case when device % 1000 < {last} then null else due_at end
where notification_id = ?1
"""
OPTIONS = {"--devices": (1_000_000, "devices"), "--notifications": (100_000, "notifications")}


def run(options):
    with outbox.Outbox(options.sealpost, LOG_LEVEL="info") as site:
        site.add_user("boss", "admin")
        site.configuration.write_text("senders: {stream: {type: stream}}\n")
        daemon, _ = site.serve()
        processes.terminate(daemon)
        start = time.monotonic()
        broadcast = fill(site, options.devices)
        print(f"{options.devices} devices written in {time.monotonic() - start:.0f} s", flush=True)
        daemon, _ = site.serve()
        post_all(site, options)
        size = (site.folder / "var/sealpost.db").stat().st_size
        print(f"{options.notifications} notifications posted, the file has {size / 1e9:.1f} GB", flush=True)
        is_fine = judge(Console(site, broadcast, options.devices), "")
        with Posts(site):
            is_fine &= judge(Console(site, broadcast, options.devices), ", beside posts")
        processes.terminate(daemon)
    require(is_fine)


def fill(site, devices):
    """Creates users, devices, tokens and the notification to all. Returns its number."""
    with site.database() as database:
        for pragma in ("synchronous = off", "cache_size = -1000000", "temp_store = memory", "foreign_keys = off"):
            database.execute(f"pragma {pragma}")
        outbox.add_devices(database, "apns", devices, EACH_USER)
        now = outbox.milliseconds()
        with outbox.transaction(database):
            database.execute(TOKENS, [now])
            database.execute("insert into device_push (device, accepted_at) select number, ? from device where id like 'apns-%'", [now])
        id = outbox.enqueue(database)
        with outbox.transaction(database):
            shares, last = [], 0
            for state, share in STATES:
                last += share
                shares.append(f"when device % 1000 < {last} then '{state}'")
            database.execute(SETTLED.format(cases=" ".join(shares), last=last), [id, now])
            database.execute("update recipient set fetched_at = ?2 where notification_id = ?1 and user_id % 3 = 0", [id, now])
            database.execute(
                "insert into tally (lane, state, count) select lane, state, count(*) from push where settled_at is not null group by 1, 2"
            )
        database.execute("pragma wal_checkpoint(truncate)")
    return id


def post_all(site, options):
    """Posts notifications to single users, in batches and one by one."""
    first, count = 10, options.devices // EACH_USER - 10
    singles = min(SINGLE, options.notifications // 5)

    def one_by_one(part):
        connection = site.connect()
        for number in range(part, singles, 8):
            api.post(connection, {"Payload": "x", "To": [f"username:user{first + number % count}"]}, credentials=credentials)

    credentials = api.sign_in(site.connect(), "alice")
    crew.together(one_by_one, range(8))
    connection = site.connect()
    for start in range(0, options.notifications - singles, BATCH):
        orders = [{"Payload": "x", "To": [f"username:user{first + (start + n) % count}"]} for n in range(BATCH)]
        api.ask(connection, "POST", "/api/notifications/batch", {"Notifications": orders}, credentials)


class Console:
    """The views, each as the calls that the page makes before it is complete."""

    def __init__(self, site, broadcast, devices):
        self.connection, self.broadcast = site.connect(), broadcast
        self.credentials = api.sign_in(self.connection, "boss", "fetch", "send", "register", "manage")
        self.users = [f"user{number}" for number in random.sample(range(20, devices // EACH_USER), 200)]
        self.random = random.Random(7)
        with site.database() as database:
            ids = [id for id, in database.execute("select id from notification where id <> ?", [broadcast])]
            self.last_device = database.execute("select max(number) from device").fetchone()[0]
        self.ids = random.sample(ids, 200)
        # A cursor deep in each list, found by reading a part of it.
        self.deep = {path: self.cursor_after(path, 5) for path in ("/api/users?limit=500", "/api/devices?limit=500", "/api/tokens?limit=500",
            "/api/audit?limit=500")}

    def ask(self, path, **parameters):
        text = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        glue = "&" if "?" in path else "?"
        return api.ask(self.connection, "GET", f"{path}{glue}{text}" if text else path, credentials=self.credentials)

    def cursor_after(self, path, pages):
        cursor = None
        for _ in range(pages):
            cursor = self.ask(path, cursor=cursor)["Cursor"]
        return cursor

    def recently_sent(self):
        """The newest fifty entries of the audit, as `recent` in notifications.js requests them."""
        cursor, found = None, 0
        for page in range(6):
            answer = self.ask("/api/audit", limit=500 if page else 100, cursor=cursor)
            found += sum(entry["Action"] == "notification.send" for entry in answer["Entries"])
            if found >= 50 or not answer["More"]:
                return
            cursor = answer["Cursor"]

    def pushes(self, id, **parameters):
        self.ask(f"/api/notifications/{id}/deliveries", **{"limit": 100, "counts": "part"} | parameters)

    def views(self):
        """The requests of each view, by its name."""
        def user():
            return self.random.choice(self.users)

        def a_user(name):
            for path in (f"/api/users/{name}", f"/api/users/{name}/tags", f"/api/devices?user={name}"):
                self.ask(path)

        return {
            "overview": lambda: self.ask("/api/status"),
            "recently sent": self.recently_sent,
            "a notification": lambda: self.pushes(self.random.choice(self.ids)),
            "a notification to all": lambda: self.pushes(self.broadcast),
            "more of its pushes": lambda: self.pushes(self.broadcast, limit=500, cursor=self.random.randrange(self.last_device)),
            "users list": lambda: self.ask("/api/users", limit=200),
            "users deep": lambda: self.ask("/api/users", limit=200, cursor=self.deep["/api/users?limit=500"]),
            "a user": lambda: a_user(user()),
            "devices list": lambda: self.ask("/api/devices"),
            "devices deep": lambda: self.ask("/api/devices", cursor=self.deep["/api/devices?limit=500"]),
            "devices of a user": lambda: self.ask("/api/devices", user=user()),
            "tokens list": lambda: self.ask("/api/tokens"),
            "tokens deep": lambda: self.ask("/api/tokens", cursor=self.deep["/api/tokens?limit=500"]),
            "tokens of a user": lambda: self.ask("/api/tokens", user=user()),
            "audit": lambda: self.ask("/api/audit", limit=200),
            "audit deep": lambda: self.ask("/api/audit", limit=200, cursor=self.deep["/api/audit?limit=500"]),
            # Nothing matches, so that one request searches as far as it may.
            "audit searched": lambda: self.ask("/api/audit", limit=200, words="nobody-at-all"),
            "audit of a kind": lambda: self.ask("/api/audit", limit=200, action="session"),
        }


def judge(console, where):
    """Opens each view some times. Returns whether each was fast enough."""
    is_fine = True
    for name, view in console.views().items():
        times = []
        for _ in range(TIMES):
            start = time.monotonic()
            view()
            times.append(time.monotonic() - start)
        slowest = figures.percentile(times, 95)
        is_fine &= figures.report(
            slowest <= SLOWEST,
            f"{name}{where}: {statistics.median(times) * 1000:.1f} ms (median), {slowest * 1000:.1f} ms (95 of 100, at most "
            f"{SLOWEST * 1000:.0f}), {max(times) * 1000:.1f} ms (all)",
        )
    return is_fine


class Posts(crew.Crew):
    def __init__(self, site):
        self.site = site
        super().__init__(self.post)

    def post(self):
        connection = self.site.connect()
        credentials = api.sign_in(connection, "alice")
        while not self.ends.wait(1 / POSTS):
            api.post(connection, {"Payload": "x", "To": [f"username:user{random.randrange(20, 1000)}"]}, credentials=credentials)
