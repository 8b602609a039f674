"""A thousand good devices beside fifty bad ones of as many users: tokens of Apple's sandbox, of another app, and dead.

1. A broadcast to all, and then single notices to the good devices, one after the other, while the bad ones are tried, moved
   and retired: no good push may arrive later than a second after its post, and `/readyz` must be 200 throughout.
2. Another broadcast meets no bad token in production any more: those of the sandbox have been moved, the others retired.
3. With another provider's key, told by SIGHUP, nothing is sent; with the right one again everything is, once.
"""

import pathlib
import signal
import threading
import time

from sealpost_e2e import api, outbox, processes

GOOD, BAD = 1000, 51
# How the tokens of each kind begin.
SANDBOX, FOREIGN, DEAD = "5a5a", "f0f0", "dead"
LATEST = 1.0


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=90, help="for how long single notices are sent (90)")


def run(options):
    with outbox.Outbox(options.sealpost) as site:
        site.simulate(
            f"apns device {DEAD}: status 410", options=["--only", "apns", "--sandbox", SANDBOX, "--foreign", FOREIGN]
        )
        with site.database() as database:
            users = add_devices(database)
        daemon, _ = site.serve()
        with Readiness(site) as readiness:
            connection = site.connect()
            watch = Watch(site)
            start = time.time()
            api.post(connection, {"Payload": "news", "To": ["news"]})
            first = watch.latest(start, GOOD)
            singles = single_notices(site, connection, users, options.seconds, watch)
            site.wait_until_settled(240, "the bad tokens", daemon)
        states = states_of(site)
        print(
            f"{GOOD} good devices beside {BAD} bad ones: the latest of the broadcast after {first:.2f} s, of {len(singles)} single "
            f"notices after {max(singles):.2f} s (at most {LATEST:g}); bad ones: {states}; /readyz: {readiness.report()}"
        )
        third = BAD // 3
        fits = first <= LATEST and max(singles) <= LATEST and states == {"moved": third, "retired": 2 * third}
        watch.skip()
        api.post(connection, {"Payload": "news", "To": ["news"]})
        site.wait_until_settled(120, "the second broadcast", daemon)
        time.sleep(2)
        again = watch.take()
        refused = [line for line in again if line[3] != "200"]
        print(f"the second broadcast: {len(again) - len(refused)} accepted, {len(refused)} refused")
        fits = fits and len(again) == GOOD + third and not refused and not readiness.failures
        fits = wrong_key(site, connection, daemon, watch, users) and fits
        processes.terminate(daemon)
        if not fits:
            raise SystemExit(1)


def add_devices(database):
    """Registers a device for each of the users; the ids of those whose devices are good."""
    usual = outbox.HANDLES["apns"]
    try:
        outbox.add_devices(database, "apns", GOOD)
        users = [row[0] for row in database.execute("select user_id from device order by number")]
        for beginning in (SANDBOX, FOREIGN, DEAD):
            outbox.HANDLES["apns"] = f"printf('{beginning}%028x%032x', ?2, n)"
            outbox.add_devices(database, "apns", BAD // 3)
    finally:
        outbox.HANDLES["apns"] = usual
    return users


def single_notices(site, connection, users, seconds, watch):
    """Posts to one good device after the other; the seconds until each had arrived."""
    watch.skip()
    posted, end = {}, time.time() + seconds
    for user in users:
        if time.time() > end:
            break
        posted[f"{user}"] = time.time()
        api.post(connection, {"Payload": "code", "To": [f"username:user{user}"]})
        time.sleep(seconds / len(users))
    arrived = {}
    deadline = time.time() + 60
    while len(arrived) < len(posted) and time.time() < deadline:
        time.sleep(1)
        for at, _, _, outcome, device in watch.take():
            # The last digits of a good token are its device's place, and users have one each in the same order.
            if outcome == "200" and not device.startswith((SANDBOX, FOREIGN, DEAD)):
                arrived.setdefault(f"{users[int(device[32:], 16)]}", at)
    return [arrived[user] - at if user in arrived else float("inf") for user, at in posted.items()]


def states_of(site):
    """What became of the bad devices."""
    with site.database() as database:
        return dict(database.execute(
            """
            select case when retired_at is not null then 'retired' when lane = 'apns/sandbox' then 'moved' else 'untouched' end as state,
                count(*)
            from device where number > ? group by state
            """,
            [GOOD],
        ))


def wrong_key(site, connection, daemon, watch, users):
    """Sends to fifty devices with a key that Apple does not know, and then with the right one."""
    file = next(pathlib.Path(site.folder).glob("simulators/AuthKey.p8"))
    right = file.read_text()
    wrong = processes.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    watch.skip()
    file.write_text(wrong)
    reload(site, daemon, 1)
    ids = [api.post(connection, {"Payload": "code", "To": [f"username:user{user}"]}) for user in users[:50]]
    processes.wait_until(lambda: "lane paused" in site.log.read_text(), 60, "a pause", daemon)
    time.sleep(2)
    before = [line for line in watch.take() if line[3] == "200"]
    file.write_text(right)
    reload(site, daemon, 2)
    site.wait_until_settled(120, "the pushes after the key was mended", daemon)
    time.sleep(2)
    after = [line for line in watch.take() if line[3] == "200"]
    tally = site.tally()
    print(
        f"with a wrong key: {len(before)} of {len(ids)} pushes accepted; with the right one {len(after)}, to {len({line[4] for line in after})} "
        f"devices; failed: {tally['failed']}, expired: {tally['expired']}"
    )
    return not before and len(after) == len({line[4] for line in after}) == len(ids) and not tally["expired"]


def reload(site, daemon, times):
    daemon.send_signal(signal.SIGHUP)
    processes.wait_until(
        lambda: site.log.read_text().count("credentials reloaded") >= times, 30, "the credentials", daemon
    )


class Watch:
    """What the simulators receive from a point on; they write their log each second."""

    def __init__(self, site):
        self.path = site.folder / "received"
        self.position = 0

    def take(self):
        """The lines since the last call: seconds since 1970, platform, push, outcome, device."""
        lines = []
        with open(self.path, "rb") as file:
            file.seek(self.position)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.position += len(line)
                at, *fields = line.decode().split()
                lines.append((int(at) / 1000, *fields))
        return lines

    def skip(self):
        time.sleep(2)
        self.take()

    def latest(self, start, count):
        """The seconds until so many good devices had their push."""
        times = {}
        deadline = time.time() + 60
        while len(times) < count and time.time() < deadline:
            time.sleep(1)
            for at, _, _, outcome, device in self.take():
                if outcome == "200" and not device.startswith((SANDBOX, FOREIGN, DEAD)):
                    times.setdefault(device, at)
        return max(times.values()) - start if len(times) == count else float("inf")


class Readiness:
    """Asks `/readyz` ten times a second."""

    def __init__(self, site):
        self.site, self.asked, self.failures = site, 0, 0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def run(self):
        connection = self.site.connect()
        while not self.ends.wait(0.1):
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            response.read()
            self.asked += 1
            self.failures += response.status != 200

    def report(self):
        return f"{self.asked - self.failures} of {self.asked} times 200"
