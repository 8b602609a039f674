"""One provider is down for six hours with 100,000 pushes waiting for it, in a time that goes sixty times faster.

Half of the pushes expire meanwhile, the others must all be delivered when it is back. While it is down and asks for ten
minutes' rest each time, no request may come before those are over; afterwards the configured pace may not be exceeded;
and pushes to another provider must go on as if nothing were.

The daemon and the simulators run under `fast-clock.c`. Times in here are seconds of theirs, unless they are said to be
real. What was on its way when the provider went down may arrive for a real second more.
"""

import math
import time

from sealpost_e2e import api, outbox, processes, rig, sealing

REST, PACE = 600, 50
# Seconds over which the pace is judged, and how much of it may come too early for having been held up on the way.
WINDOW, BUNCHING = 300, 1.1
OTHERS = 40
# The script itself lives in real time, where the daemon's deadlines are short.
PATIENCE = {
    f"SERVER_LIMITS_{name}TIMEOUT": 3600 for name in ("HEADER", "BODY", "HANDLER", "WRITE", "IDLE")
}


def add_options(parser):
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--factor", type=int, default=60, help="how much faster time goes (60)")


def run(options):
    length = options.hours * 3600
    with outbox.Outbox(options.sealpost, **PATIENCE) as site:
        speed_up(site, options.factor)
        down = time.monotonic()
        simulators = site.simulate(f"from 0s to {int(length)}s device token-: status 503 retry-after {REST}")
        text = site.configuration.read_text()
        site.configuration.write_text(text.replace("type: fcm,", f"type: fcm, rate: {PACE},", 1))
        with site.database() as database:
            outbox.add_devices(database, "fcm", options.devices // 2, tags=["short"])
            outbox.add_devices(database, "fcm", options.devices // 2, tags=["long"])
            outbox.add_devices(database, "apns", OTHERS, tags=["others"])
        daemon, _ = site.serve()
        connection = site.connect()
        post(connection, "short", int(length / 2))
        post(connection, "long", int(length * 4))
        slowest = others(site, connection, daemon, down + length / options.factor)
        back = time.monotonic()
        site.wait_until_settled(900, "the end of the queue", daemon, pause=0.2)
        seconds = (time.monotonic() - back) * options.factor
        processes.terminate(daemon)
        site.await_log(simulators)
        judge(site, options, slowest, seconds)


def speed_up(site, factor):
    """All that the rig starts from here on is sped up."""
    library = site.folder / "fast-clock.so"
    processes.run("cc", "-O2", "-shared", "-fPIC", "-o", library, rig.FOLDER / "fast-clock.c")
    site.environment |= {"LD_PRELOAD": str(library), "FAST_CLOCK": f"{factor},{time.monotonic_ns()}"}


def others(site, connection, daemon, end):
    """Sends to devices of the other provider until `end`, real; the most real seconds until one was accepted."""
    with site.database() as database:
        names = [row[0] for row in database.execute(
            "select opened(?, u.id, u.name) from user u join device d on d.user_id = u.id where d.platform = 'apns'", [sealing.NAME]
        )]
    slowest, pause = 0, (end - time.monotonic()) / len(names)
    for name in names:
        start = time.monotonic()
        id = post(connection, f"username:{name}", 3600)
        processes.wait_until(lambda: is_accepted(site, id), 60, "a push to the other provider", daemon, pause=0.005)
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(max(0, pause - (time.monotonic() - start)))
    return slowest


def is_accepted(site, id):
    with site.database() as database:
        return database.execute(
            "select exists (select 1 from delivery where notification_id = ? and state = 'accepted')", [id]
        ).fetchone()[0]


def post(connection, to, lifetime):
    return api.post(connection, {"Payload": "news", "To": [to], "ExpiresIn": lifetime})


def judge(site, options, slowest, seconds):
    requests = []
    with open(site.folder / "received") as log:
        for line in log:
            milliseconds, platform, _, outcome, device = line.split()
            if platform == "fcm":
                requests.append((int(milliseconds) / 1000, outcome, device))
    requests.sort()
    refused = [at for at, outcome, _ in requests if outcome == "503" or outcome == "status"]
    reached = {device for _, outcome, device in requests if outcome == "200"}
    early = count_early([at for at, _, _ in requests], refused, options.factor)
    busiest = most_within([at for at, _, _ in requests], WINDOW)
    tally = site.tally()
    half = options.devices // 2
    print(
        f"{options.hours:g} hours down with {2 * half} pushes waiting, {options.factor} times faster: {tally['accepted'] - OTHERS} "
        f"accepted and {tally['expired']} expired, {len(reached)} devices reached, {seconds:.0f} s after it was back; "
        f"{len(refused)} requests refused, {early} of all before Retry-After; at most {busiest} requests within {WINDOW} s "
        f"(pace {PACE * WINDOW}); pushes to the other provider accepted within {slowest:.2f} real seconds"
    )
    fits = (
        tally["accepted"] == half + OTHERS and tally["expired"] == half and tally["enqueued"] == 2 * half + OTHERS
        and not tally["pending"] and len(reached) == half
    )
    if not fits or not refused or early or busiest > PACE * WINDOW * BUNCHING or slowest > 2:
        print(tally)
        raise SystemExit(1)


def count_early(times, refused, factor):
    """How many requests came between a refusal and the end of the rest that it asked for."""
    early, last, position = 0, -math.inf, 0
    for at in times:
        while position < len(refused) and refused[position] + factor < at:
            last, position = refused[position], position + 1
        if at < last + REST:
            early += 1
    return early


def most_within(times, seconds):
    most, first = 0, 0
    for position, at in enumerate(times):
        while times[first] <= at - seconds:
            first += 1
        most = max(most, position - first + 1)
    return most
