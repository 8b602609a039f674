"""Sends a million pushes to faulty simulators, and compares three counts of their outcomes.

The API sends broadcasts to three platforms; some expire soon, and some replace each other, so that every outcome occurs. The
daemon's tally must add up to the enqueued pushes, and the outbox's rows by state to the same numbers. A push is accepted in the
outbox if and only if a simulator accepted it, by its id. After a fault in a try either is possible, and the simulator may accept
a push twice. With --control the program removes one accepted push from the log, and changes one row; then it must fail.
"""

import collections
import time

from sealpost_e2e import outbox, processes, require, sealing

# Frequent enough that each happens, rare enough that the pauses that they cause do not take hours.
FAULTS = [
    'every 1000: status 400 body {"reason":"PayloadTooLarge"}', "every 1301: refuse-stream", "every 4099: goaway reason Shutdown",
    'every 9001: status 410 body {"reason":"Unregistered"}', "every 15013: goaway-before", "every 20011: lose-answer", "every 25013: bad-json",
    "every 30011: reset", "every 50021: status 429 retry-after 1", "every 70001: status 503 retry-after 2", "every 110017: cut",
]
WITH_ANSWER = {"goaway", "bad-json"}
OPTIONS = {
    "--pushes": (1_000_000, "pushes in total"), "--seconds": (3600, "timeout"),
    "--control": "lose one push: the program must then fail",
}


def run(options):
    with outbox.Outbox(options.sealpost) as site:
        devices = options.pushes // outbox.BROADCASTS
        phones = min(1000, devices // 20)
        simulators = site.simulate(*FAULTS, channels=phones)
        with site.database() as database:
            outbox.add_devices(database, "apns", devices // 2)
            outbox.add_devices(database, "fcm", devices - devices // 2 - phones)
            outbox.add_devices(database, "wns", phones, channels=site.channels())
            # Before the run, as the server erases the handles of retired devices.
            handles = dict(database.execute("select number, opened(?, number, handle) from device", [sealing.HANDLE]))
        begin = time.monotonic()
        daemon, _ = site.serve()
        # Long enough to be enqueued, and too short to be sent.
        ids = site.post_broadcasts("news", lifetime=max(2, options.pushes // 25_000))
        short = pushes_of(site, ids[outbox.SHORT])
        site.wait_until_settled(options.seconds, "the end of all pushes", daemon, pause=0.2)
        seconds = time.monotonic() - begin
        processes.terminate(daemon)
        site.await_log(simulators)
        if options.control:
            lose_one(site)
        fits, text = compare(site, short, handles)
        print(f"{text}, in {seconds:.0f} s")
        require(fits)


def pushes_of(site, id):
    """The simulators' names of a notification's pushes, whose rows may be deleted later."""
    seed = site.read("select seed from notification where id = ?", id)
    with site.database() as database:
        devices = database.execute("select number from device where platform = 'apns'")
        return {str(id)} | {outbox.apns_id(seed, device) for device, in devices}


def compare(site, short, handles):
    """Whether all counts agree, and a line that says so."""
    tally = site.tally()
    difference = tally["enqueued"] - sum(tally[state] for state in (*outbox.STATES, "pending"))
    rows, accepted = read_rows(site, handles)
    told, perhaps, troubled, faults = collections.Counter(), set(), set(), collections.Counter()
    for _, platform, push, outcome, device in site.received():
        if outcome == "200":
            told[platform, push, device] += 1
            continue
        faults[outcome] += 1
        troubled.add((platform, push, device))
        if outcome in WITH_ANSWER:
            perhaps.add((platform, push, device))
    # An expired notification is deleted with its rows, and remains only in the tally.
    deleted = {state: tally[state] - rows[state] for state in outbox.STATES}
    is_short = lambda key: key[1] in short
    kept = {key for key in told if not is_short(key)}
    least = len(told) - len(kept)
    most = least + len({key for key in perhaps if is_short(key)} - told.keys())
    wrong = (
        min(deleted.values()) < 0 or sum(deleted.values()) > tally["enqueued"] // (outbox.BROADCASTS - 1)
        or any(deleted.values()) and not least <= deleted["accepted"] <= most
    )
    if not any(deleted.values()):
        kept = told.keys()
    untold, unknown = len(accepted - kept - perhaps), len(kept - accepted - troubled)
    twice = sum(told.values()) - len(told)
    text = (
        f"{tally['enqueued']} pushes enqueued, difference {difference}: "
        + ", ".join(f"{tally[state]} {state}" for state in (*outbox.STATES, "pending"))
        + f"; rows {'do not agree' if wrong else 'agree'}; simulators: {untold} accepted pushes were never taken, "
        f"{unknown} were and are not; {twice} were taken twice; requests not answered with 200: {dict(faults)}"
    )
    return not any((difference, wrong, untold, unknown, tally["pending"])), text


def read_rows(site, handles):
    """The number of rows in each state; accepted ones by the simulators' knowledge of them."""
    rows, accepted = collections.Counter(), set()
    with site.database() as database:
        query = """
            select d.state, d.lane, d.notification_id, d.device, n.seed
            from push d join notification n on n.id = d.notification_id
            """
        for state, lane, notification, device, seed in database.execute(query):
            rows[state] += 1
            if state == "accepted":
                handle = handles[device]
                push = outbox.apns_id(seed, device) if lane == "apns" else str(notification)
                accepted.add((lane, push, handle if lane != "wns" else "/" + handle.split("/", 3)[3]))
    return rows, accepted


def lose_one(site):
    log = site.folder / "received"
    lines = log.read_text().splitlines(keepends=True)
    lines.remove(next(line for line in lines if line.split()[3] == "200"))
    log.write_text("".join(lines))
    with site.database() as database:
        database.execute("update push set state = 'failed' where (notification_id, device) in "
            "(select notification_id, device from push where state = 'accepted' limit 1)")
