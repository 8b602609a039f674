"""Durable posts a second, as ratios to other programs on the same disk.

  product   64 users post by 64 connections; each answer follows its durable commit
  waiting   the same with a parked stream device for each user
  postgres  PostgreSQL with its defaults, 64 clients of `pgbench -M prepared`: a transaction of four such inserts
  loop      a loop in C over prepared statements: the product's rows and schema, 24 posts in a transaction,
            synchronous=FULL; it neither parses nor encrypts nor answers

The median of the rounds' ratios counts.
"""

import statistics

from sealpost_e2e import api, figures, postgresql, processes, require, rig

USERS = 64
LIMITS = {"product / postgres": 3, "product / loop": 0.5, "waiting / product": 0.8}
SLOWEST = 50  # Milliseconds, of 99 in 100.

TABLES = """
create table notification (id bigint primary key, sender_id bigint not null, flags int not null, seed bigint not null,
    created_at bigint not null, expires_at bigint not null, payload bytea not null);
create index on notification (expires_at);
create table recipient (notification_id bigint references notification, user_id bigint, change bigint not null,
    changed_at bigint not null, seal bigint not null, primary key (notification_id, user_id));
create unique index on recipient (user_id, change, notification_id);
create table push (notification_id bigint references notification, device bigint, lane text not null,
    state text not null, due_at bigint not null, primary key (notification_id, device));
create index on push (lane, due_at) where state = 'queued';
create table audit (number bigserial primary key, at bigint not null, entry bytea not null, link bytea not null);
"""
POST = """
\\set id random(1, 9000000000000000)
\\set user random(1, 64)
begin;
insert into notification values (:id, :user, 0, :id, 1, 2, decode(repeat('00', 60), 'hex'));
insert into recipient values (:id, :user, :id, 1, :id);
insert into push values (:id, :user, 'stream', 'queued', 1);
insert into audit (at, entry, link) values (1, decode(repeat('00', 120), 'hex'), decode(repeat('00', 32), 'hex'));
commit;
"""
# A script of wrk: each connection loops over the users.
LOAD = """
local tokens, next = {%s}, 0
wrk.method, wrk.body = "POST", '"Your test result is in."'
function request()
    next = next %% #tokens + 1
    return wrk.format(nil, nil, {Authorization = tokens[next]})
end
"""
OPTIONS = {"loop": "the executable sqlite-posts", "--rounds": (5, "rounds"), "--seconds": (5, "for each measurement")}


class Product(rig.Rig):
    """A daemon whose users post to themselves, with a parked device each or without."""

    def __init__(self, sealpost, has_device):
        super().__init__(sealpost, LOG_LEVEL="error")
        for number in range(1, USERS):
            self.add_user(f"user{number}")
        self.process = self.start_daemon(stderr=None)
        connection = self.connect()
        tokens = []
        for name in ["alice", *(f"user{number}" for number in range(1, USERS))]:
            credentials = api.sign_in(connection, name)
            if has_device:
                api.register(connection, credentials, Platform="stream")
            tokens.append(credentials)
        connection.close()
        self.script = self.folder / "load.lua"
        self.script.write_text(LOAD % ", ".join(f'"{token}"' for token in tokens))

    def rate(self, seconds):
        """Posts a second, and the 99th percentile in milliseconds."""
        return figures.steady_load(f"http://127.0.0.1:{self.port}/api/notifications", seconds, 64, 2, "--script", self.script)


class Postgres:
    """pgbench on a cluster with its defaults, by its unix socket."""

    def __init__(self, cluster):
        self.cluster, self.script = cluster, cluster.folder / "post.sql"
        cluster.run_script(TABLES)
        self.script.write_text(POST)

    def rate(self, seconds):
        return figures.bench_rate(self.cluster, postgresql.NAME, self.script, seconds, clients=64, threads=2)


class Loop:
    def __init__(self, program, folder):
        self.program, self.folder, self.number = program, folder, 0

    def rate(self, seconds):
        self.number += 1
        path = self.folder / f"loop{self.number}.db"
        schema = rig.ROOT / "Migrations/sql/M0001_initial.sql"
        rate = float(processes.run(self.program, path, schema, seconds, 24, 0))
        for file in self.folder.glob(f"{path.name}*"):
            file.unlink()
        return rate


def run(options):
    with Product(options.sealpost, False) as product, Product(options.sealpost, True) as waiting, postgresql.Cluster() as cluster:
        measure(product, waiting, Postgres(cluster), Loop(options.loop, cluster.folder), options)


def measure(product, waiting, postgres, loop, options):
    rounds = []
    for number in range(1, options.rounds + 1):
        posts, slowest = product.rate(options.seconds)
        others, slowest_waiting = waiting.rate(options.seconds)
        transactions, inserted = postgres.rate(options.seconds), loop.rate(options.seconds)
        rounds.append([posts / transactions, posts / inserted, others / posts, max(slowest, slowest_waiting)])
        print(
            f"round {number}: {' '.join(f'{ratio:.2f}' for ratio in rounds[-1][:3])}  (a second: product {posts:.0f}, waiting "
            f"{others:.0f}, PostgreSQL {transactions:.0f}, loop {inserted:.0f}; 99 of 100 within {slowest:.1f} and "
            f"{slowest_waiting:.1f} ms)",
            flush=True,
        )
    is_fine = figures.report_medians(rounds, LIMITS)
    slowest = statistics.median(row[3] for row in rounds)
    print(f"99 of 100 posts, median of {options.rounds}: within {slowest:.1f} ms (at most {SLOWEST})")
    require(is_fine and slowest <= SLOWEST)
