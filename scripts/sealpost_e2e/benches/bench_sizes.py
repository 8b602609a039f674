"""Bytes of each row of a PostgreSQL database with a million devices, and the time of a broadcast.

The bench writes users with a token and a device each, posts to some thousand users and to all, and lets the store settle those
pushes. docs/scale.md multiplies its figures. It fails if the 99th percentile of a post exceeds a second beside the broadcast.
"""

import statistics
import threading
import time

from sealpost_e2e import api, crew, figures, outbox, postgresql, processes, require, sealing
from sealpost_e2e.benches import bench_outbox

POSTS, SLOWEST = 5000, 1.0
CHUNK = 50_000
FEWEST = 1000  # The fewest rows for which bytes a row mean anything.
USERS = """
insert into account (name, name_key, role, password, created_at)
    select decode(repeat('5a', 44), 'hex'), decode(lpad(to_hex(n), 32, '0'), 'hex'), 'device', repeat('x', 97), {now}
    from generate_series(1, {devices}) as n;
insert into user_change (user_id, change) select id, 0 from account on conflict do nothing;
insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, mac)
    select decode(lpad(to_hex(n), 64, '0'), 'hex'), 'x' || lpad(to_hex(n), 10, '0'), n + 2, true, 'fetch register', {now}, {now} + 100000000, n
    from generate_series(1, {devices}) as n;
"""
TAGS = """
insert into device_tag (device, tag) select number, {tag} from device where id like 'device%';
insert into device_push (device, accepted_at) select number, {now} from device;
vacuum analyze;
"""
TABLES = {
    "account": "an account", "token": "a session", "device": "a device", "device_tag": "a tag of a device", "device_push": "its last push",
    "notification": "a notification of 300 bytes", "recipient": "a recipient", "push": "a push that waits", "push_end": "a push that has ended",
}
OPTIONS = {"tools": "the folder of the bench's own program, postgresql-outbox", "--devices": (1_000_000, "devices")}


class Sizes:
    """Bytes and rows of tables, and their growth."""

    def __init__(self, cluster):
        self.cluster, self.before = cluster, {}

    def mark(self):
        self.before = self.now()

    def now(self):
        return {name: tuple(map(int, self.cluster.query(f"select pg_total_relation_size('{name}'), (select count(*) from {name})")[0]))
            for name in TABLES}

    def report(self, *names):
        """Prints the bytes of each new row."""
        now = self.now()
        for name in names:
            (old, rows), (size, count) = self.before.get(name, (0, 0)), now[name]
            if count - rows >= FEWEST:
                print(f"{TABLES[name]}: {(size - old) / (count - rows):.0f} bytes (table {name}, {count - rows} rows)", flush=True)


def run(options):
    with postgresql.Cluster(max_wal_size="4GB") as cluster, outbox.Outbox(options.sealpost, DATABASE=cluster.url) as site:
        site.configuration.write_text("senders: {stream: {type: stream}}\n")
        sizes = Sizes(cluster)
        fill(cluster, site, options.devices)
        sizes.report("account", "token", "device", "device_tag", "device_push")
        daemon, _ = site.serve()
        credentials = api.sign_in(site.connect(), "alice")
        sizes.mark()
        post_singly(site, credentials)
        # The statistics then say that a notification has one recipient.
        cluster.run_script("analyze")
        sizes.report("notification", "recipient")
        sizes.mark()
        is_fine = broadcast(cluster, site, credentials, options.devices)
        sizes.report("push", "recipient")
        sizes.mark()
        settle(cluster, site, options)
        sizes.report("push_end")
        total = int(cluster.query(f"select pg_database_size('{postgresql.NAME}')")[0][0])
        print(f"the database: {total / 1e9:.1f} GB")
        processes.terminate(daemon)
    require(is_fine)


def fill(cluster, site, devices):
    """Creates users, each with a session and a device, all with alice's tag."""
    daemon, _ = site.serve()
    connection = site.connect()
    credentials = api.sign_in(connection, "alice")
    id = api.register(connection, credentials, Platform="stream")
    of_name = tags(cluster)
    api.ask(connection, "PUT", f"/api/register/{id}", {"Platform": "stream", "Tags": ["all"]}, credentials)
    processes.terminate(daemon)
    values = {"now": outbox.milliseconds(), "devices": devices}
    cluster.run_script(USERS.format(**values))
    key = sealing.DataKey(site.folder / "var/keyring")
    first = int(cluster.query("select max(number) + 1 from device")[0][0])
    for start in range(0, devices, CHUNK):
        cluster.run_script(bench_outbox.devices_script(key, range(first + start, first + min(start + CHUNK, devices))))
    [tag] = tags(cluster) - of_name
    cluster.run_script(TAGS.format(tag=f"'\\x{tag}'", **values))


def tags(cluster):
    """The keyed hashes of all tags, as hex."""
    return {row[0] for row in cluster.query("select distinct encode(tag, 'hex') from device_tag")}


def post_singly(site, credentials):
    connection = site.connect()
    for _ in range(POSTS // 500):
        batch = {"Notifications": [{"Payload": "Your test result is in. " * 12, "To": ["username:alice"]} for _ in range(500)]}
        outcomes = api.ask(connection, "POST", "/api/notifications/batch", batch, credentials)["Outcomes"]
        refused = [one for one in outcomes if one["Status"] != 201]
        if refused:
            raise SystemExit(f"{len(refused)} of {len(outcomes)} posts were refused: {refused[0]}")


def broadcast(cluster, site, credentials, devices):
    """Posts to all, and single posts until all pushes are there. Returns whether those were fast enough."""
    durations, ends = [], threading.Event()

    def post():
        connection = site.connect()
        while not ends.is_set():
            start = time.monotonic()
            api.post(connection, "single", credentials=credentials)
            durations.append(time.monotonic() - start)
            time.sleep(0.01)

    start = time.monotonic()
    api.post(site.connect(), {"Payload": "to all", "To": ["all"]}, credentials=credentials)
    with crew.Crew(post, ends=ends):
        processes.wait_until(lambda: cluster.query("select count(*) from fanout")[0] == ["0"], 900, "the end of the broadcast", pause=0.2)
        taken = time.monotonic() - start
    slowest = figures.percentile(durations)
    print(f"a broadcast to {devices} devices: {taken:.1f} s until all pushes were in the outbox, {devices / taken:.0f} a second")
    return figures.report(
        slowest <= SLOWEST,
        f"single posts meanwhile: {statistics.median(durations) * 1000:.1f} ms (median), {slowest * 1000:.1f} ms (99 of 100, at most "
        f"{SLOWEST * 1000:.0f}), of {len(durations)}",
    )


def settle(cluster, site, options):
    drain = bench_outbox.Drain(f"{options.tools}/postgresql-outbox", cluster, site)
    count, taken = drain.tell("drain")
    print(f"{count} pushes leased and settled in {taken:.1f} s, {count / taken:.0f} a second")
    processes.terminate(drain.process)
