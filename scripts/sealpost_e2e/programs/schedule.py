"""A hundred thousand scheduled notifications leave at their times: spread over a minute, and all at one instant.

Each goes to a device of its own at the simulated APNs, which writes down when it came. They are posted by batches of 500, with
`SendAt` in milliseconds. Spread over a minute, each must come once, not before its time, and within two seconds of it. At one
instant each must come once and not before; how long that takes is printed.
"""

import datetime
import statistics
import time

from sealpost_e2e import api, outbox, processes

BATCH = 500
LATEST = 2000  # Milliseconds.
# What the clock's milliseconds may be rounded.
ROUNDING = 1


def add_options(parser):
    parser.add_argument("--notifications", type=int, default=100_000, help="of each part (100000)")
    parser.add_argument("--seconds", type=int, default=60, help="over which the first part is spread (60)")


def run(options):
    count = options.notifications
    spread = measure(options.sealpost, count, options.seconds)
    print(f"{count} spread over {options.seconds} s: {describe(spread)}", flush=True)
    if spread[-1] > LATEST:
        raise SystemExit(f"one came {spread[-1]} ms after its time, and {LATEST} are the most")
    instant = measure(options.sealpost, count, 0)
    print(f"{count} at one instant: {describe(instant)}, {count / instant[-1] * 1000:.0f} a second", flush=True)


def describe(lateness):
    median, most = statistics.median(lateness), lateness[-1]
    return f"late by {median:.0f} ms (median), {lateness[len(lateness) * 99 // 100]:.0f} ms (99 of 100), {most:.0f} ms (all)"


def measure(sealpost, count, seconds):
    """How late each came, in milliseconds, sorted."""
    with Site(sealpost, count) as site:
        daemon, _ = site.serve()
        began = time.monotonic()
        # Time enough to post all of them before the first is due.
        start = outbox.milliseconds() + 10_000 + count // 4
        site.schedule([start + number * seconds * 1000 // count for number in range(count)])
        if outbox.milliseconds() > start:
            raise SystemExit(f"posting {count} took {time.monotonic() - began:.0f} s, until after the first was due")
        print(f"{count} posted in {time.monotonic() - began:.1f} s", flush=True)
        site.await_arrivals(count, daemon, (start - outbox.milliseconds()) / 1000 + seconds + 300)
        processes.terminate(daemon)
        arrivals = site.arrivals()
        lateness = sorted(arrivals[number] - start - number * seconds * 1000 // count for number in range(count))
    if lateness[0] < -ROUNDING:
        raise SystemExit(f"one came {-lateness[0]} ms before its time")
    return lateness


class Site(outbox.Outbox):
    """A daemon, simulators, and a device for each notification."""

    def __init__(self, sealpost, count):
        super().__init__(sealpost)
        with self.database() as database:
            outbox.add_devices(database, "apns", count)
            self.first = database.execute("select max(id) from user").fetchone()[0] - count + 1
        self.simulators = self.simulate()

    def schedule(self, times):
        """Posts a notification to each device's user, to be sent at that time."""
        connection = self.connect()
        credentials = api.sign_in(connection, "alice")
        for first in range(0, len(times), BATCH):
            orders = [
                {"Payload": number, "To": [f"username:user{self.first + number}"], "SendAt": text(times[number]), "ExpiresIn": 3600}
                for number in range(first, min(first + BATCH, len(times)))
            ]
            outcomes = api.ask(connection, "POST", "/api/notifications/batch", {"Notifications": orders}, credentials)["Outcomes"]
            refused = [outcome for outcome in outcomes if outcome["Status"] != 201]
            if refused:
                raise SystemExit(f"{len(refused)} were refused: {refused[0]}")
        connection.close()

    def await_arrivals(self, count, daemon, seconds):
        """Waits until so many pushes were accepted, and all are written down."""
        def are_there():
            with self.database() as database:
                return database.execute(
                    "select coalesce(sum(count), 0) >= ? from tally where state = 'accepted'", [count]
                ).fetchone()[0]

        processes.wait_until(are_there, seconds, "the pushes", daemon, pause=0.5)
        self.await_log(self.simulators)
        with self.database() as database:
            left = database.execute("select count(*) from scheduled").fetchone()[0]
        if left or self.tally()["accepted"] != count:
            raise SystemExit(f"{left} are still scheduled: {self.tally()}")

    def arrivals(self):
        """When each device's push came, by the device's number."""
        arrivals = {}
        with open(self.folder / "received") as file:
            for line in file:
                moment, _, _, outcome, device = line.split()
                number = int(device[32:], 16)
                if outcome != "200" or number in arrivals:
                    raise SystemExit(f"the push to device {number} came as {outcome}, or again")
                arrivals[number] = int(moment)
        return arrivals


def text(milliseconds):
    """A time in RFC 3339."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")
