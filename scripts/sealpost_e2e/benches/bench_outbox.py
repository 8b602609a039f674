"""Pushes a second that the outbox on PostgreSQL leases and settles, as a ratio to a bare prototype.

  product    the store without senders: two workers lease 500 pushes and settle the last 500 as accepted
  prototype  two clients of `pgbench -M prepared` with two statements, without handles, times, counts and fences. Its queue has
             the product's columns, indexes and plans, and a fill factor of 70.

A cycle fills the queue, drains it once with each (only that is timed), and cleans up as the server does. In the second half a
session holds a snapshot open, so that PostgreSQL cannot remove dead rows; there the prototype's rate is that of the first half.

The bench fails if the median of the ratios is below `LIMIT` in a half, if the last third of a half has less than `STEADY` of the
ratio of its first third, if rows stay in the queue or its table grows to `GROWTH` times its size in the first half, or if cleanup in
the last third of the second half takes more than `DELETION` times as long as in the first.
"""

import os
import re
import statistics
import subprocess
import time

from sealpost_e2e import outbox, postgresql, processes, require, rig, sealing

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
# The client's number stands for the leasing process.
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
OPTIONS = {
    "tools": "the folder of the bench's own program, postgresql-outbox", "--seconds": (600, "for both halves together"),
    "--pushes": (200_000, "pushes of a cycle"), "--devices": (200_000, "devices that get them"),
}


def lookup(row):
    """The condition that a push has the key of another row."""
    return " and ".join(
        f"p.{column} = any(array[{row}.{column}]) and p.{column} between {row}.{column} and {row}.{column}"
        for column in ("notification_id", "device")
    )


def devices_script(key, numbers):
    """A statement that creates devices with the next numbers, each for the user with its number."""
    rows = ",".join(
        f"('device{n}', {n}, '{LANE}', '{LANE}', '\\x{key.seal(sealing.HANDLE, n, f'{n:064x}').hex()}', '\\x{n:032x}', '\\x{'5a' * 60}', 0, 0)"
        for n in numbers
    )
    return DEVICE.format(rows=rows)


class Drain:
    """The program that leases and settles; it reads a command a line."""

    def __init__(self, program, cluster, site):
        self.process = site.start(
            [program, cluster.url, site.folder / "var/keyring", LANE, str(WORKERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None, bufsize=1,
        )

    def tell(self, command):
        """Sends a command. Returns the number and the seconds of the response."""
        self.process.stdin.write(command + "\n")
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"postgresql-outbox ended with {self.process.wait()}")
        return int(answer[0]), float(answer[1])


class Cycles:
    def __init__(self, cluster, drain, options):
        self.cluster, self.drain, self.seconds, self.devices = cluster, drain, options.seconds / 2, options.devices
        self.notifications, self.pushes = options.pushes // options.devices, options.pushes // options.devices * options.devices
        self.first = 10_000_000
        self.script = cluster.folder / "prototype.sql"
        self.script.write_text(PROTOTYPE.format(
            lane=LANE, batch=BATCH, later=outbox.milliseconds() + 10**9, lease=lookup("c"), settlement=lookup("k"),
        ))

    def run_cycles(self, name, prototype=None):
        """For each cycle: the rates of product and prototype, the table's bytes and rows, the seconds of cleanup."""
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
        """Fills the queue. Returns the pushes a second of its drain."""
        self.cluster.run_script(PUSHES.format(
            queue=queue, first=self.first, now=outbox.milliseconds(), notifications=self.notifications, devices=self.devices,
        ))
        self.first += self.notifications
        return self.pushes / drain()

    def drain_with_product(self):
        count, taken = self.drain.tell("drain")
        require(count == self.pushes, f"{count} of {self.pushes} pushes were leased and settled")
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
        require((left := self.cluster.query("select count(*) from bare_push")[0][0]) == "0", f"the prototype has left {left} pushes")
        return WORKERS * transactions / float(re.search(r"tps = ([\d.]+)", output)[1])


def run(options):
    with postgresql.Cluster() as cluster, rig.Rig(options.sealpost, DATABASE=cluster.url) as site:
        key = sealing.DataKey(site.folder / "var/keyring")
        cluster.run_script(devices_script(key, range(1, options.devices + 1)) + BARE_QUEUE)
        drain = Drain(f"{options.tools}/postgresql-outbox", cluster, site)
        cycles = Cycles(cluster, drain, options)
        plain = cycles.run_cycles("as it is")
        with postgresql.Session(cluster) as session:
            session.query("begin isolation level repeatable read")
            session.query("select count(*) from push")
            held = cycles.run_cycles("snapshot held", statistics.median(cycle[1] for cycle in plain))
        processes.terminate(drain.process)
    require(judge(plain, held))


def third(cycles):
    """The number of cycles in a third of them."""
    return max(1, len(cycles) // 3)


def growth_of_table(cycles):
    """The largest size of the queue's table in the last third, and before: 1.5 if it grows steadily."""
    sizes = [cycle[2] for cycle in cycles]
    return max(sizes[-third(sizes):]) / max(sizes[:-third(sizes)])


def judge(plain, held):
    """Prints the figures. Returns whether all are within their limits."""
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
