"""Several daemons share one PostgreSQL, and are killed (kill -9) and paused (SIGSTOP) at random instants under load.

A ledger outside the daemons has what was acknowledged. Of that, each notification must be there with its own payload on every
daemon, and each device must have got its push at the simulated APNs; a push that came twice must carry the same apns-id, and there
may be no more of them than the daemon that was killed or paused had leased at that moment. A post whose answer never came may be
there or not. Then daemons are killed that have leased pushes, while the others have run for some time: from the death to the end of
the last of these pushes it may take 7 s.

Then sessions end at one daemon, while others are asked with them as fast as they answer: none may take a request that began after
the answer to the one that ended the session. So once more with a daemon that is stopped before, and goes on after. At the end the
database itself is killed and started again, before all that was acknowledged is fetched.

With `--forget` the ledger has one entry more for each kill, which was never posted: then the program must fail.
"""

import random
import secrets
import threading
import time

from sealpost_e2e import api, postgresql, processes, several

# Seconds: the lease of a daemon that is stopped, for which an end waits, and what a busy machine may add.
LEASE, SLACK = 5.0, 5.0
# Seconds: how long the pushes of a daemon that has died may take until others have sent them.
TAKEOVER = 7.0
# Seconds that a daemon runs before it takes over from others.
PATIENCE = 5.0


def add_options(parser):
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--pauses", type=int, default=6, help="of 1 to 30 s (6)")
    parser.add_argument("--takeovers", type=int, default=3, help="kills after which the time of the takeover is measured, and as many without other load (3)")
    parser.add_argument("--clients", type=int, default=16, help="that post, and as many that fetch (16)")
    parser.add_argument("--ends", type=int, default=20, help="sessions that end at one daemon, under load (20)")
    parser.add_argument("--stops", type=int, default=3, help="as many while another daemon is stopped (3)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the random instants")
    parser.add_argument("--forget", action="store_true", help="the control: must fail")


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
            instants = random.Random(options.seed)
            ended = revoke(site, options.ends, instants)
            stopped = revoke(site, options.stops, instants, stops=True)
        finally:
            clients.stop()
        start = time.monotonic()
        processes.wait_until(site.is_settled, 120, "the end of the outbox", site.daemons[0], pause=0.2)
        emptied = time.monotonic() - start
        idle = [
            take_over(site, several.Clients(site, ledger, credentials, options.clients, 0)) for _ in range(options.takeovers)
        ]
        processes.wait_until(site.is_settled, 120, "the end of the outbox", site.daemons[0], pause=0.2)
        cluster.kill()
        processes.wait_until(lambda: not any(map(is_ready, site.ports)), 15, "the daemons' notice that the database is gone", pause=0.2)
        cluster.start()
        processes.wait_until(lambda: all(map(is_ready, site.ports)), 15, "the daemons' notice that it is back", pause=0.2)
        missing = sum(several.missing(site, number, ledger, credentials) for number in range(options.nodes))
        for daemon in site.daemons:
            processes.terminate(daemon)
        site.await_log(simulators)
        unpushed, foreign, twice = several.compare(site, ledger)
        several.show(ledger.faults, site)
    takeovers += idle
    leased |= stopped[3].union(*(pushes for pushes, _ in takeovers))
    unexplained = len(twice - leased)
    slowest = max((seconds for _, seconds in takeovers), default=0)
    print(
        f"{options.kills} kills and {options.pauses} pauses (of {paused:.0f} s together) of {options.nodes} daemons in {seconds:.0f} s "
        f"(seed {options.seed}): {len(ledger.posted)} notifications acknowledged, {missing} of them missing, {unpushed} without their "
        f"push, {foreign} pushes with another id, {len(twice)} sent twice, {unexplained} of them not among the {len(leased)} that were leased by who was killed, paused or stopped; "
        f"{len(takeovers)} takeovers, {len(idle)} of them without other load, of {sum(len(pushes) for pushes, _ in takeovers)} pushes, the slowest {slowest:.1f} s after the death "
        f"(at most {TAKEOVER:.0f}); the outbox was empty {emptied:.1f} s after the last post; {ledger.counts['fetched']} fetches, "
        f"{len(ledger.faults)} wrong answers, {ledger.counts['lost']} connections lost, {ledger.counts['refused']} refused as busy; "
        f"{options.ends} sessions ended at one daemon, in {ended[2][len(ended[2]) // 2] * 1000:.0f} ms (median) to "
        f"{ended[2][-1] * 1000:.0f} ms: of {ended[1]} requests that began afterwards the others took {ended[0]}; {options.stops} while "
        f"another daemon was stopped, in {stopped[2][-1]:.1f} s at most: {stopped[0]} taken of {stopped[1]}"
    )
    if missing or unpushed or foreign or ledger.faults or unexplained or slowest > TAKEOVER:
        raise SystemExit(1)
    if ended[0] or stopped[0] or not ended[1] or max(ended[2] + stopped[2]) > LEASE + SLACK:
        raise SystemExit(1)


def interfere(site, options, ledger):
    """Kills and pauses daemons, never all at once. The pushes that those had leased, and the seconds of all pauses."""
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
    """Kills a daemon that has leased pushes, and stops the clients if there are any, so that the others have nothing else to do. The
    pushes, and the seconds until the last of them has ended."""
    time.sleep(max(0.0, max(site.since) + PATIENCE - time.monotonic()))
    # What it has leased at one moment may have ended by the next.
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
        # Those that ask the dead one end only when it is back.
        clients.ends.set()
    processes.wait_until(lambda: not site.pending(pushes), 60, "the takeover", pause=0.05)
    seconds = time.monotonic() - start
    site.begin(number)
    if clients:
        clients.stop()
    return pushes, seconds


def is_ready(port):
    """What /readyz says: while the database does not answer, a proxy must send nothing here."""
    return api.status(api.connect(port), "/readyz") == 200


class Prober(threading.Thread):
    """Asks a daemon with a user's credentials, until it has refused them some times. When it was asked, and what it said."""

    def __init__(self, port, credentials):
        super().__init__()
        self.port, self.credentials, self.answers = port, credentials, []
        self.has_passed = threading.Event()
        self.start()

    def run(self):
        connection, refusals = api.connect(self.port), 0
        while refusals < 4:
            began = time.monotonic()
            try:
                api.ask(connection, "GET", "/api/notifications", credentials=self.credentials)
                self.answers.append((began, True))
                self.has_passed.set()
            except api.UnexpectedAnswer as answer:
                # The limiter of wrong credentials says 429, and who was cut off from the database 503.
                refusals += " 401 " in str(answer) or " 429 " in str(answer)
                self.answers.append((began, False))
                connection.close()

    def taken_after(self, moment):
        """How many requests were taken that began after a moment, and how many began then."""
        late = [is_taken for began, is_taken in self.answers if began >= moment]
        return sum(late), len(late)


def revoke(site, rounds, instants, stops=False):
    """Ends sessions at daemons, one each round. How many requests others took that began after that was answered, of how many, the
    times that the answers took, sorted, and the pushes that were leased by who was stopped. With `stops` one of the others is stopped
    meanwhile."""
    taken, asked, leased = 0, 0, set()
    times = []
    for _ in range(rounds):
        number, other = instants.sample(range(len(site.ports)), 2)
        connection = api.connect(site.ports[number])
        credentials = api.sign_in(connection, f"user{instants.randrange(several.USERS)}")
        probers = [Prober(port, credentials) for index, port in enumerate(site.ports) if index != number]
        for prober in probers:
            if not prober.has_passed.wait(30):
                raise SystemExit("a daemon did not take a session that another had begun")
        if stops:
            site.freeze(other)
            # It may send them after others have.
            leased |= site.leased(other)
        start = time.monotonic()
        try:
            api.ask(connection, "DELETE", "/api/sessions/current", credentials=credentials)
            end = time.monotonic()
            # What comes while it is stopped waits in its socket.
            late = [Prober(site.ports[other], credentials) for _ in range(8 if stops else 0)]
            if stops:
                time.sleep(instants.uniform(0, 1))
        finally:
            site.thaw(other)
        for prober in probers + late:
            prober.join()
            counts = prober.taken_after(end)
            taken, asked = taken + counts[0], asked + counts[1]
        times.append(end - start)
    return taken, asked, sorted(times) or [0.0], leased
