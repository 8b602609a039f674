"""Kills and freezes the primary of a Patroni cluster while several daemons serve clients.

Three PostgreSQL have strict synchronous replication by a quorum of two replicas; a signal hits Patroni and PostgreSQL together.
A ledger outside has the acknowledged posts: each notification must exist, no fetch may miss one meanwhile, and each device must
get its push; a duplicate must have been leased during the failover. The first post must be stored within the lease and 8 s.

With `--lossy` no commit waits for a replica, and the replicas freeze just before the kill; then the program must fail.
"""

import random
import signal
import time

from sealpost_e2e import patroni, processes, require, several

LIMIT = patroni.TTL + 8.0  # Seconds from the primary's end to the first stored post.
MARGIN = 15.0  # Pushes within these seconds of a failover may have been leased.
OPTIONS = {
    "--nodes": (3, "daemons"), "--kills": (3, "kills of the primary"),
    "--freezes": (3, "freezes of the primary, each until the failover"),
    "--clients": (8, "clients that post, and as many that fetch"),
    "--seed": (random.randrange(1 << 32), "seed of the random instants"), "--lossy": "the control: must fail",
}


def run(options):
    if options.lossy:
        options.kills, options.freezes = 1, 0
    instants, ledger = random.Random(options.seed), several.Ledger()
    with patroni.Patroni(is_safe=not options.lossy) as cluster, several.Site(options.sealpost, cluster, options.nodes) as site:
        simulators, credentials = site.prepare()
        clients = several.Clients(site, ledger, credentials, options.clients, options.clients)
        rounds = ["kill"] * options.kills + ["freeze"] * options.freezes
        instants.shuffle(rounds)
        try:
            outages = [fail_over(cluster, ledger, how, instants, options.lossy) for how in rounds]
        finally:
            clients.stop()
        cluster.wait_until_whole(180)
        start = time.monotonic()
        while not site.is_settled() and time.monotonic() - start < 120:
            time.sleep(0.5)
        emptied, is_settled = time.monotonic() - start, site.is_settled()
        missing, unpushed, foreign, twice = several.conclude(site, ledger, credentials, simulators)
        unexplained = count_unexplained(site, outages)
    waits = {how: [outage.wait for outage in outages if outage.how == how] for how in ("kill", "freeze")}
    print(
        f"{options.kills} kills and {options.freezes} freezes of the primary (seed {options.seed}): {len(ledger.posted)} notifications "
        f"acknowledged, {missing} of them missing, {unpushed} without their push, {foreign} pushes with another id, {len(twice)} sent twice, of "
        f"which {unexplained} were not under way at a failover; the first post was stored after {describe(waits['kill'])} (kills) and "
        f"{describe(waits['freeze'])} (freezes), at most {LIMIT:.0f}; the outbox was {'' if is_settled else 'not '}empty {emptied:.1f} s "
        f"after the last post; {several.tell(ledger)}"
    )
    late = any(outage.wait > LIMIT for outage in outages)
    require(not missing and not unpushed and not foreign and not unexplained and not ledger.faults and not late and is_settled)


class Outage:
    """A time without a primary: its cause, its bounds as seconds since 1970, and the delay of the first post."""

    def __init__(self, how, begin, wait):
        self.how, self.begin, self.end, self.wait = how, begin, begin + wait, wait


def fail_over(cluster, ledger, how, instants, is_lossy):
    """Kills or freezes the primary, waits for the first stored post, and restores the cluster."""
    cluster.wait_until_whole(180)
    time.sleep(instants.uniform(2, 5))
    primary, replicas = cluster.primary(), cluster.replicas()
    if is_lossy:
        for replica in replicas:
            cluster.signal_server(replica, signal.SIGSTOP)
        time.sleep(instants.uniform(0.5, 1))
        for replica in replicas:
            cluster.kill_receiver(replica)
    begin = time.time()
    cluster.signal(primary, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
    # The lost primary may have stored a post that began before.
    start = time.monotonic()
    if is_lossy:
        for replica in replicas:
            cluster.signal_server(replica, signal.SIGCONT)
    processes.wait_until(lambda: ledger.first_after(start), 120, "the first post after a failover", pause=0.1)
    wait = ledger.first_after(start) - start
    print(f"{how}: the first post was stored after {wait:.1f} s", flush=True)
    if how == "kill":
        cluster.start(primary)
    else:
        # By then the new primary has worked for a while, and the old one still believes to be the primary.
        time.sleep(instants.uniform(2, 10))
        cluster.signal(primary, signal.SIGCONT)
        # Until then a failover would leave one of three, and no commit could reach two.
        processes.wait_until(lambda: not cluster.says(primary, "primary"), 60, "the end of the old primary", pause=0.3)
    return Outage(how, begin, wait)


def count_unexplained(site, outages):
    """The number of duplicate pushes without a failover in between."""
    first, count = {}, 0
    for at, _, push, outcome, _ in site.received():
        before = first.setdefault(push, at) if outcome == "200" else at
        if outcome == "200" and before != at:
            count += not any(before <= one.end + MARGIN and at >= one.begin for one in outages)
    return count


def describe(seconds):
    return " and ".join(f"{one:.1f} s" for one in seconds) or "none"
