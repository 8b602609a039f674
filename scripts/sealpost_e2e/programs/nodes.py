"""Kills and pauses daemons that share one PostgreSQL, at random instants under load.

A ledger outside has the acknowledged posts. Each notification must exist on every daemon, and each device must get its push;
duplicates must have been leased by a killed or paused daemon. Then the program kills daemons with leased pushes: the last of
these must end within 7 s. At the end it kills and restarts the database, and fetches all acknowledged notifications.

With `--forget` the ledger has an entry more for each kill, which was never posted; then the program must fail.
"""

import random
import secrets
import time

from sealpost_e2e import api, postgresql, processes, require, several

TAKEOVER = 7.0  # Seconds until other daemons must have sent a dead daemon's pushes.
WARM_UP = 5.0  # Seconds that a daemon runs before it takes over.
OPTIONS = {
    "--nodes": (3, "daemons"), "--kills": (60, "kills"), "--pauses": (6, "pauses of 1 to 30 s"),
    "--takeovers": (3, "measured takeovers under load, and as many without"),
    "--clients": (16, "clients that post, and as many that fetch"),
    "--seed": (random.randrange(1 << 32), "seed of the random instants"), "--forget": "the control: must fail",
}


def run(options):
    ledger = several.Ledger()
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, options.nodes) as site:
        simulators, credentials = site.prepare()
        begin = time.monotonic()
        clients = several.Clients(site, ledger, credentials, options.clients, options.clients)
        try:
            leased, paused = interfere(site, options, ledger)
            seconds = time.monotonic() - begin
            takeovers = [take_over(site) for _ in range(options.takeovers)]
        finally:
            clients.stop()
        start = time.monotonic()
        processes.wait_until(site.is_settled, 120, "the end of the outbox", site.daemons[0], pause=0.2)
        emptied = time.monotonic() - start
        idle = [take_over(site, several.Clients(site, ledger, credentials, options.clients, 0)) for _ in range(options.takeovers)]
        processes.wait_until(site.is_settled, 120, "the end of the outbox", site.daemons[0], pause=0.2)
        cluster.kill()
        processes.wait_until(lambda: not any(map(api.is_ready, site.ports)), 15, "the daemons' notice that the database is gone", pause=0.2)
        cluster.start()
        processes.wait_until(lambda: all(map(api.is_ready, site.ports)), 15, "the daemons' notice that it is back", pause=0.2)
        missing, unpushed, foreign, twice = several.conclude(site, ledger, credentials, simulators)
    takeovers += idle
    leased = leased.union(*(pushes for pushes, _ in takeovers))
    unexplained = len(twice - leased)
    slowest = max((seconds for _, seconds in takeovers), default=0)
    print(
        f"{options.kills} kills and {options.pauses} pauses (of {paused:.0f} s together) of {options.nodes} daemons in {seconds:.0f} s "
        f"(seed {options.seed}): {len(ledger.posted)} notifications acknowledged, {missing} of them missing, {unpushed} without their "
        f"push, {foreign} pushes with another id, {len(twice)} sent twice, {unexplained} of them not among the {len(leased)} that were leased by who was killed or paused; "
        f"{len(takeovers)} takeovers, {len(idle)} of them without other load, of {sum(len(pushes) for pushes, _ in takeovers)} pushes, the slowest {slowest:.1f} s after the death "
        f"(at most {TAKEOVER:.0f}); the outbox was empty {emptied:.1f} s after the last post; {several.tell(ledger)}"
    )
    require(not missing and not unpushed and not foreign and not ledger.faults and not unexplained and slowest <= TAKEOVER)


def interfere(site, options, ledger):
    """Kills and pauses daemons, never all together. Returns their leased pushes and the seconds of all pauses."""
    instants, frozen, leased, paused = random.Random(options.seed), {}, set(), 0.0
    incidents = ["kill"] * options.kills + ["pause"] * options.pauses
    instants.shuffle(incidents)

    def rest(seconds):
        end = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            for number in [number for number, until in frozen.items() if until <= now]:
                site.thaw(number)
                del frozen[number]
            if now >= end:
                return
            time.sleep(min([end, *frozen.values()]) - now)

    for incident in incidents:
        rest(instants.uniform(0.2, 1.5))
        while len(frozen) >= options.nodes - 1:
            rest(0.5)
        number = instants.choice([number for number in range(options.nodes) if number not in frozen])
        if incident == "pause":
            seconds = instants.uniform(1, 30)
            site.freeze(number)
            leased |= site.leased(number)
            frozen[number], paused = time.monotonic() + seconds, paused + seconds
        else:
            site.kill(number)
            leased |= site.leased(number)
            if options.forget:
                ledger.posted[secrets.randbits(40)] = ("user0", "never posted")
            site.begin(number)
    while frozen:
        rest(0.5)
    return leased, paused


def take_over(site, clients=None):
    """Stops the clients and kills a daemon with leased pushes. Returns these and the seconds until their end."""
    time.sleep(max(0.0, max(site.since) + WARM_UP - time.monotonic()))
    # A push that was leased a moment ago may have ended.
    for number in [*range(len(site.ports))] * 20:
        if not site.leased(number):
            continue
        site.freeze(number)
        pushes = site.leased(number)
        if pushes:
            break
        site.thaw(number)
    else:
        raise SystemExit("no daemon had leased a push")
    site.kill(number)
    start = time.monotonic()
    if clients:
        # Requests to the dead daemon end only after its restart.
        clients.ends.set()
    processes.wait_until(lambda: not site.pending(pushes), 60, "the takeover", pause=0.05)
    seconds = time.monotonic() - start
    site.begin(number)
    if clients:
        clients.stop()
    return pushes, seconds
