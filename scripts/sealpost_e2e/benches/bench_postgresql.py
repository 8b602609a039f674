"""Fetches and durable posts a second of one server on PostgreSQL, as ratios to pgbench.

  fetches   GET /api/notifications/{id} by 256 connections, of notifications with 100 recipients each
            : `pgbench -M prepared`, 16 clients, the bare query on all notifications
  posts     POST /api/notifications by 64 users, each with an idempotency key and for a parked device
            : `pgbench -M prepared`, 64 clients, the same work in one statement: notification, recipient, the user's
            counter, push, idempotency key, and entry of an audit chain

The cluster has its defaults, and all share two cores. Each client program has one thread, which takes less than half a core. The
median of the rounds' ratios counts.
"""

import random

from sealpost_e2e import api, figures, outbox, postgresql, processes, require

USERS = 64
THREADS = 1
FETCHED = 2000
RECIPIENTS = 100
LIMITS = {"fetches / pgbench": 1.0, "posts / pgbench": 2.0}
PAYLOAD = "Your test result is in. " * 10
SEALED = 300  # The bytes of the encrypted payload.

FILL = """
insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at, expires_at, payload)
    select n, 1, true, false, 'high', n, n, {now}, {now} + 100000000 + n, decode(repeat('5a', {sealed}), 'hex')
    from generate_series(1, {count}) as n on conflict do nothing;
insert into recipient (notification_id, user_id, change, changed_at, mac)
    select n, 1000 + n % 1000, n, {now}, 0 from generate_series(1, {count}) as n;
vacuum analyze;
"""
# Makes the fetched notifications broadcasts after PostgreSQL has collected its statistics.
CROWD = """
insert into recipient (notification_id, user_id, change, changed_at, mac)
    select n.id, 1000000 + u, n.id, {now}, 0 from notification n cross join generate_series(1, {recipients}) as u where n.id > {count};
vacuum recipient;
"""
FETCH = """
\\set id random(1, {count})
select n.payload, n.is_stored_by_clients, n.is_read_once, n.created_at, n.expires_at, r.user_id is not null,
    r.read_at, r.fetched_at, r.mac, n.sender_id, n.app
from notification n left join recipient r on r.notification_id = n.id and r.user_id = 1000 + :id % 1000
where n.id = :id and n.expires_at > {now} and n.payload is not null and r.user_id is not null and r.dismissed_at is null;
"""
# Runs in a copy of the product's tables; each client has its own audit chain.
CHAINS = """
insert into audit_chain (chain, node, number, link, start_number, start_link, start_mac, mac)
    select 1000 + n, 0, (1000 + n)::bigint << 40, '', 0, '', '', '' from generate_series(0, 63) as n;
insert into user_change (user_id, change) select id, 0 from account on conflict do nothing;
vacuum analyze;
"""
POST = """
\\set id random(1, 9000000000000000)
\\set user random({first}, {last})
with i as (
    insert into idempotency (key, request, notification_id, created_at, expires_at)
    select decode(lpad(to_hex(:id::bigint), 32, '0'), 'hex'), decode(repeat('5a', 16), 'hex'), :id::bigint, {now}, {now} + 100000000
    where not exists (select 1 from notification where id = :id::bigint) on conflict do nothing returning key),
n as (
    insert into notification
        (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at, expires_at, payload)
    select :id::bigint, :user::bigint, true, false, 'high', :id::bigint, :id::bigint, {now}, {now} + 100000000, decode(repeat('5a', {sealed}), 'hex')
    where exists (select 1 from i) and exists (select 1 from account where id = :user::bigint and disabled_at is null)
    on conflict do nothing returning id),
c as (
    update user_change set change = greatest(change + 1, extract(epoch from clock_timestamp())::bigint << 30)
    where user_id = :user::bigint and exists (select 1 from n) returning user_id, change),
r as (
    insert into recipient (notification_id, user_id, change, changed_at, mac) select :id::bigint, user_id, change, {now}, :id::bigint from c),
d as (
    insert into push (notification_id, device, user_id, lane, is_bulk)
    select :id::bigint, number, user_id, lane, false from device where user_id in (select user_id from c) returning lane),
h as (
    update audit_chain set number = number + 1, link = decode(repeat('00', 32), 'hex'), mac = decode(repeat('00', 32), 'hex')
    where chain = 1000 + :client_id and exists (select 1 from n) returning number),
a as (
    insert into audit (number, at, entry, link)
    select number, {now}, decode(repeat('5a', 150), 'hex'), decode(repeat('00', 32), 'hex') from h)
select (select count(*) from n), (select count(*) from c), (select count(*) from d);
"""
# A script of wrk: each thread loops over the notifications or users. It builds the requests before the load begins,
# as the client's CPU time is taken from the server's.
FETCHES = """
local requests, next = {}, 0
wrk.headers["Authorization"] = "%(token)s"
function init()
    for _, id in ipairs({%(ids)s}) do requests[#requests + 1] = wrk.format(nil, "/api/notifications/" .. id) end
end
function request()
    next = next %% #requests + 1
    return requests[next]
end
"""
POSTS = """
local starts, ends, next, threads = {}, {}, 0, 0
wrk.method, wrk.body = "POST", [[%(body)s]]
function setup(thread) threads = threads + 1; thread:set("number", threads) end
function init()
    for _, token in ipairs({%(tokens)s}) do
        local request = wrk.format(nil, nil, {Authorization = token, ["Idempotency-Key"] = "<key>"})
        local from, to = request:find("<key>", 1, true)
        starts[#starts + 1], ends[#ends + 1] = request:sub(1, from - 1), request:sub(to + 1)
    end
end
function request()
    next = next + 1
    local user = next %% #starts + 1
    return starts[user] .. os.time() .. "-" .. number .. "-" .. next .. ends[user]
end
"""
OPTIONS = {
    "--rounds": (15, "rounds"), "--seconds": (2, "for each measurement"), "--socket": "reach the database by its unix socket",
    "--fetchers": (256, "connections that fetch"), "--notifications": (100_000, "in the table"),
}


class Product(outbox.Outbox):
    """A server with a large table, alice, who fetches some of it, and users who post to themselves."""

    def __init__(self, sealpost, cluster, count):
        super().__init__(sealpost, DATABASE=cluster.url, LOG_LEVEL="error")
        for number in range(1, USERS):
            self.add_user(f"user{number}")
        self.cluster = cluster
        self.process = self.start_daemon(stderr=None)
        processes.wait_until(lambda: processes.listens(self.port), 30, "the server", self.process)
        connection = self.connect()
        names = ["alice", *(f"user{number}" for number in range(1, USERS))]
        tokens = [api.sign_in(connection, name) for name in names]
        ids = [api.post(connection, PAYLOAD, credentials=tokens[0]) for _ in range(FETCHED)]
        for token in tokens:
            api.register(connection, token, Platform="stream")
        connection.close()
        random.shuffle(ids)
        for script in FILL, CROWD:
            cluster.run_script(script.format(now=outbox.milliseconds(), count=count, sealed=SEALED, recipients=RECIPIENTS))
        self.fetches, self.posts = self.folder / "fetches.lua", self.folder / "posts.lua"
        self.fetches.write_text(FETCHES % {"ids": quoted(ids), "token": tokens[0]})
        self.posts.write_text(POSTS % {"tokens": quoted(tokens), "body": f'"{PAYLOAD}"'})

    def rate(self, script, seconds, connections):
        """Requests a second, and the 99th percentile in milliseconds."""
        return figures.steady_load(f"http://127.0.0.1:{self.port}/api/notifications", seconds, connections, THREADS, "--script", script)


class Bench:
    """pgbench on the cluster: in the product's tables for fetches, in a copy for posts."""

    COPY = "copy"

    def __init__(self, cluster, count):
        self.cluster, now = cluster, outbox.milliseconds()
        first, last = cluster.query("select min(id), max(id) from account")[0]
        values = {"now": now, "count": count, "sealed": SEALED, "first": first, "last": last}
        self.fetch, self.post = cluster.folder / "fetch.sql", cluster.folder / "post.sql"
        self.fetch.write_text(FETCH.format(**values))
        self.post.write_text(POST.format(**values))

    def fetches(self, seconds):
        return figures.bench_rate(self.cluster, postgresql.NAME, self.fetch, seconds, 16, THREADS)

    def posts(self, seconds):
        return figures.bench_rate(self.cluster, self.COPY, self.post, seconds, 64, THREADS)


def quoted(texts):
    return ", ".join(f'"{text}"' for text in texts)


def run(options):
    with postgresql.Cluster(None if options.socket else processes.free_port()) as cluster:
        with Product(options.sealpost, cluster, options.notifications) as product:
            # A copy of the database with users and devices; a template must have no sessions, a dump may.
            cluster.copy(Bench.COPY)
            cluster.run_script(CHAINS, Bench.COPY)
            measure(product, Bench(cluster, options.notifications), options)


def measure(product, bench, options):
    rounds = []
    for number in range(1, options.rounds + 1):
        fetched, slowest_fetch = product.rate(product.fetches, options.seconds, options.fetchers)
        queries = bench.fetches(options.seconds)
        posted, slowest_post = product.rate(product.posts, options.seconds, USERS)
        statements = bench.posts(options.seconds)
        rounds.append([fetched / queries, posted / statements])
        print(
            f"round {number}: fetches {fetched / queries:.2f}, posts {posted / statements:.2f}  (a second: fetches {fetched:.0f} to "
            f"{queries:.0f} of pgbench, posts {posted:.0f} to {statements:.0f}; 99 of 100 within {slowest_fetch:.1f} and "
            f"{slowest_post:.1f} ms)",
            flush=True,
        )
    require(figures.report_medians(rounds, LIMITS))
