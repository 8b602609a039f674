"""How many pushes a second the outbox on PostgreSQL leases and settles, as a ratio to a bare prototype in the same run.

  product    its store without senders: two workers lease 500 at a time, and settle them as accepted while they lease the next
  prototype  two clients of `pgbench -M prepared` with two statements: one takes 500 from where it took the last ones, the other
             moves them to those that are settled. It opens no addresses, keeps no times of devices, counts nothing and fences
             nobody. Its queue has the columns and indexes of the product's, and pages that are filled to 70 in 100. It finds rows
             and is planned as the product is, or it would read all that is due, and have a third of its rate, whenever its queue was
             empty when that was analyzed last

A cycle fills the queue, a thousand pushes due each millisecond, and drains it, once with each (only that is timed), and deletes
what has expired as the server does. The first half of the time goes by as it is; then a session holds a snapshot open until the
end, as a report or a dump does, so that no dead row can be removed. There the product alone is measured, compared with the
prototype's median of the first half.

Fails if

- the median of the cycles' ratios is below `LIMIT` in one of the halves,
- the last third of a half has less than `STEADY` of the ratio of its first third,
- in the first half, the queue or its table grows: rows are left, or the table is `GROWTH` times as large in the last third as it ever
  was before; between two rounds of autovacuum, a minute apart, it takes the dead rows of some cycles,
- in the last third of the second half, deleting what has expired takes more than `DELETION` times as long as in the first half: each
  step would walk over what was deleted before.

Bounded by `--seconds` and one cycle.
"""

import os
import re
import statistics
import subprocess
import time

from sealpost_e2e import outbox, postgresql, processes, rig, sealing

LIMIT, STEADY, GROWTH, DELETION = 0.7, 0.8, 1.25, 3
BATCH, WORKERS = 500, 2
LANE = "apns"
DEVICE = """
insert into device (id, user_id, platform, lane, handle, handle_key, tags, created_at, registered_at)
    values {rows};
"""
PUSHES = """
insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at, expires_at, payload)
    select {first} + n, 1, true, false, 'high', n, n, {now}, {now} + 3600000, decode(repeat('5a', 300), 'hex')
    from generate_series(1, {notifications}) as n;
insert into {queue} (notification_id, device, user_id, lane, is_bulk, due_at)
    select {first} + n, number, user_id, lane, true, {now} + (n * {devices} + number) / 1000
    from generate_series(1, {notifications}) as n, device order by n, number;
"""
BARE_QUEUE = """
create table bare_push (like push including all)
    with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
"""
# The client's number stands for the process that leases.
PROTOTYPE = """
with c as materialized (
    select notification_id, device, due_at from bare_push
    where lane = '{lane}' and is_bulk and due_at <= {later} and due_at >= :mark and owner is null order by due_at limit {batch} for update skip locked),
u as (
    update bare_push p set owner = 1000 + :client_id, attempts = p.attempts + 1 from c
    where {lease}
    returning p.notification_id, p.device, c.due_at)
select coalesce(min(due_at), :mark) as mark, coalesce(array_agg(notification_id), '{{}}') as notifications, coalesce(array_agg(device), '{{}}') as devices from u \\gset
with gone as (
    delete from bare_push p using unnest(:notifications::int8[], :devices::int8[]) as k (notification_id, device)
    where {settlement} and p.owner = 1000 + :client_id
    returning p.notification_id, p.device, p.user_id, p.lane, p.is_bulk, p.attempts)
insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at)
    select notification_id, device, user_id, lane, is_bulk, 'accepted', attempts, {later} from gone;
"""


def lookup(row):
    """That a push has the key of another row."""
    return " and ".join(
        f"p.{column} = any(array[{row}.{column}]) and p.{column} between {row}.{column} and {row}.{column}"
        for column in ("notification_id", "device")
    )


def devices_script(key, numbers):
    """A statement that makes devices of these numbers, which must be the next ones, each of the user with its number."""
    rows = ",".join(
        f"('device{n}', {n}, '{LANE}', '{LANE}', '\\x{key.seal(sealing.HANDLE, n, f'{n:064x}').hex()}', '\\x{n:032x}', '\\x{'5a' * 60}', 0, 0)"
        for n in numbers
    )
    return DEVICE.format(rows=rows)


class Drain:
    """The program that leases and settles, which takes commands line by line."""

    def __init__(self, program, cluster, site):
        self.process = site.start(
            [program, cluster.url, site.folder / "var/keyring", LANE, str(WORKERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None, bufsize=1,
        )

    def tell(self, command):
        """The number and the seconds that it answers with."""
        self.process.stdin.write(command + "\n")
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"postgresql-outbox ended with {self.process.wait()}")
        return int(answer[0]), float(answer[1])


class Cycles:
    """The same work again and again."""

    def __init__(self, cluster, drain, options):
        self.cluster, self.drain, self.seconds, self.devices = cluster, drain, options.seconds / 2, options.devices
        self.notifications, self.pushes = options.pushes // options.devices, options.pushes // options.devices * options.devices
        self.first = 10_000_000
        self.script = cluster.folder / "prototype.sql"
        self.script.write_text(PROTOTYPE.format(
            lane=LANE, batch=BATCH, later=outbox.milliseconds() + 10**9, lease=lookup("c"), settlement=lookup("k"),
        ))

    def go_on(self, name, prototype=None):
        """Of each cycle: the rates of product and prototype, which may be given, the bytes of the queue's table, the rows left in it, and how
        long it took to delete what has expired, in seconds."""
        end, cycles = time.monotonic() + self.seconds, []
        while time.monotonic() < end or len(cycles) < 3:
            product = self.rate("push", self.drain_with_product)
            bare = prototype or self.rate("bare_push", self.drain_with_prototype)
            _, retained = self.drain.tell("retain")
            left, size, dead = map(int, self.cluster.query(
                "select (select count(*) from push), pg_total_relation_size('push'), n_dead_tup from pg_stat_user_tables where relname = 'push'"
            )[0])
            cycles.append((product, bare, size, left, retained))
            print(
                f"{name} {len(cycles)}: {product / bare:.2f}  (a second: {product:.0f} to {bare:.0f}; the queue's table {size / 1e6:.0f} MB, {dead} "
                f"dead rows; deleted what has expired in {retained:.1f} s)",
                flush=True,
            )
        return cycles

    def rate(self, queue, drain):
        """Fills the queue; the pushes a second with which it is drained."""
        self.cluster.run_script(PUSHES.format(
            queue=queue, first=self.first, now=outbox.milliseconds(), notifications=self.notifications, devices=self.devices,
        ))
        self.first += self.notifications
        return self.pushes / drain()

    def drain_with_product(self):
        count, taken = self.drain.tell("drain")
        if count != self.pushes:
            raise SystemExit(f"{count} of {self.pushes} pushes were leased and settled")
        return taken

    def drain_with_prototype(self):
        # The settings of the product's sessions and leases.
        settings = {"PGOPTIONS": "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off"}
        transactions = -(-self.pushes // BATCH // WORKERS) + 5
        output = processes.run(
            *self.cluster.command("pgbench"), *self.cluster.address, "--no-vacuum", "-M", "prepared",
            "-c", WORKERS, "-j", WORKERS, "-t", transactions, "-D", "mark=0", "-f", self.script, postgresql.NAME, cwd=self.cluster.folder,
            env=os.environ | settings,
        )
        if (left := self.cluster.query("select count(*) from bare_push")[0][0]) != "0":
            raise SystemExit(f"the prototype has left {left} pushes")
        return WORKERS * transactions / float(re.search(r"tps = ([\d.]+)", output)[1])


def add_options(parser):
    parser.add_argument("tools", help="the folder of the bench's own program, postgresql-outbox")
    parser.add_argument("--seconds", type=int, default=600, help="of both halves together (600)")
    parser.add_argument("--pushes", type=int, default=200_000, help="of a cycle (200000)")
    parser.add_argument("--devices", type=int, default=200_000, help="that they go to (200000)")


def run(options):
    with postgresql.Cluster() as cluster, rig.Rig(options.sealpost, DATABASE=cluster.url) as site:
        key = sealing.DataKey(site.folder / "var/keyring")
        cluster.run_script(devices_script(key, range(1, options.devices + 1)) + BARE_QUEUE)
        drain = Drain(f"{options.tools}/postgresql-outbox", cluster, site)
        cycles = Cycles(cluster, drain, options)
        plain = cycles.go_on("as it is")
        with postgresql.Session(cluster) as session:
            session.query("begin isolation level repeatable read")
            session.query("select count(*) from push")
            held = cycles.go_on("snapshot held", statistics.median(cycle[1] for cycle in plain))
        processes.terminate(drain.process)
    if not judge(plain, held):
        raise SystemExit(1)


def third(cycles):
    """How many cycles a third of them is."""
    return max(1, len(cycles) // 3)


def growth_of_table(cycles):
    """The queue's table at its largest in the last third, and before. 1.5 if it grows all the time."""
    sizes = [cycle[2] for cycle in cycles]
    return max(sizes[-third(sizes):]) / max(sizes[:-third(sizes)])


def judge(plain, held):
    """Prints what counts. Whether all of it is within its limit."""
    is_fine = True
    for name, cycles in (("as it is", plain), ("snapshot held", held)):
        ratios = [product / bare for product, bare, *_ in cycles]
        steady = statistics.median(ratios[-third(ratios):]) / statistics.median(ratios[:third(ratios)])
        median = statistics.median(ratios)
        print(
            f"{name}: product / prototype, median of {len(ratios)}: {median:.2f} (at least {LIMIT}); its last third / its first third: "
            f"{steady:.2f} (at least {STEADY})"
        )
        is_fine &= median >= LIMIT and steady >= STEADY
    growth, left = growth_of_table(plain), max(cycle[3] for cycle in plain)
    print(
        f"as it is: the queue's table at its largest in the last third / before: {growth:.2f} (at most {GROWTH}); {left} rows left in it (0); "
        f"control, snapshot held: {growth_of_table(held):.2f}"
    )
    # The prototype's pushes are deleted in the first half, too.
    before = statistics.median(cycle[4] for cycle in plain) / 2
    after = statistics.median(cycle[4] for cycle in held[-third(held):])
    print(
        f"deletion of a cycle's pushes: {before:.1f} s as it is, {after:.1f} s in the last third with the snapshot held, {after / before:.2f} "
        f"times as long (at most {DELETION})"
    )
    return is_fine and growth <= GROWTH and left == 0 and after <= before * DELETION
