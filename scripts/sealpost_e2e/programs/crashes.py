"""Kills the daemon 200 times at random during a broadcast to 100,000 devices, and checks their pushes.

Every device must get its push. Duplicates must have the same apns-id, at most one for each kill during their sending. A rate
limit spreads the kills over the whole broadcast; some hit a starting daemon, and the first ones the fan-out.
"""

import collections
import random
import time

from sealpost_e2e import api, outbox, processes, require, sealing

RATE = 2500
OPTIONS = {
    "--devices": (100_000, "devices"), "--count": (200, "kills"),
    "--seed": (random.randrange(1 << 32), "of the random instants"),
}


def run(options):
    instants = random.Random(options.seed)
    with outbox.Outbox(options.sealpost) as site:
        simulators = site.simulate()
        paced = site.configuration.read_text().replace("backgroundInterval: 0", f"backgroundInterval: 0, rate: {RATE}")
        site.configuration.write_text(paced)
        with site.database() as database:
            outbox.add_devices(database, "apns", options.devices)
        begin = time.monotonic()
        notification, under_way, most, in_walk = crash(site, options.count, options.devices, instants)
        daemon, _ = site.serve()
        site.wait_until_settled(1800, "the end of the broadcast", daemon, pause=0.1)
        seconds = time.monotonic() - begin
        processes.terminate(daemon)
        site.await_log(simulators)

        missing, foreign, twice, unexplained = compare(site, notification, under_way)
        print(
            f"{options.count} kills in {seconds:.0f} s of a broadcast to {options.devices} devices, {in_walk} of them before "
            f"all were in the outbox (seed {options.seed}): {missing} devices without their push, {foreign} pushes with "
            f"another id, {twice} sent twice, of which {unexplained} were not under way when it was killed; at most {most} "
            "were under way at once"
        )
        tally = site.tally()
        require(not missing and not foreign and not unexplained and tally["accepted"] == tally["enqueued"] == options.devices, tally)


def crash(site, count, devices, instants):
    """Posts, kills and restarts. Returns the notification, the kills during each device's push, the most leased pushes,
    and the number of kills before the end of the fan-out."""
    under_way, most, in_walk, notification = collections.Counter(), 0, 0, None
    left = devices
    for number in range(count):
        # Each life sends its share of the remaining pushes within the rate; the final tenth meets no kill.
        share = max(0, left - devices / 10) / RATE / (count - number)
        process, _ = site.serve() if notification is None or instants.random() < 0.9 else (site.start_blindly(), None)
        if notification is None:
            notification = api.post(site.connect(), {"Payload": "news", "To": ["news"]})
            time.sleep(instants.uniform(0, 0.05))
        else:
            time.sleep(instants.uniform(0, 2 * share))
        processes.kill(process)
        with site.database() as database:
            met = [row[0] for row in database.execute("select device from push where settled_at is null and state = 'sending'")]
        in_walk += site.read("select count(*) from fanout")
        left = devices - site.read("select count(*) from push where settled_at is not null")
        under_way.update(met)
        most = max(most, len(met))
        require(left, f"the broadcast was at its end after {number + 1} kills: the rate is too high")
    return notification, under_way, most, in_walk


def compare(site, notification, under_way):
    """The numbers of missing pushes, wrong ids, duplicates, and unexplained duplicates."""
    seed = site.read("select seed from notification where id = ?", notification)
    with site.database() as database:
        devices = dict(database.execute("select opened(?, number, handle), number from device", [sealing.HANDLE]))
    got, foreign = collections.Counter(), 0
    for *_, push, outcome, handle in site.received():
        if outcome != "200" or push != outbox.apns_id(seed, devices[handle]):
            foreign += 1
        else:
            got[devices[handle]] += 1
    twice = sum(got.values()) - len(got)
    unexplained = sum(max(0, times - 1 - under_way[device]) for device, times in got.items())
    return len(devices) - len(got), foreign, twice, unexplained
