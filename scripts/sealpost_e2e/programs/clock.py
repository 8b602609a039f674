"""Moves a daemon's clock 100 days ahead for a while, with SQLite and with PostgreSQL, as a wrong time server would.

The daemon runs under Debian's libfaketime, which changes the time of day only. Payloads are good for 30 days, and a
session for 90.

1. While the clock is ahead, and when it is right again, the session and every payload are good, and `/readyz` and
   `doctor` name the clock.
2. A daemon that starts while the clock is ahead believes no more.
3. After `sealpost clock accept` the session has ended, and the payloads are gone.
"""

import subprocess
import time

from sealpost_e2e import api, postgresql, processes, rig

LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
DAY = 86_400
JUMP = 100 * DAY


def add_options(parser):
    parser.add_argument("--count", type=int, default=20, help="payloads (20)")
    parser.add_argument("--seconds", type=int, default=45, help="how long the clock is ahead (45)")


def run(options):
    look(options, "SQLite")
    with postgresql.Cluster() as cluster:
        look(options, "PostgreSQL", DATABASE=cluster.url)


class Clock:
    """The clock of the processes that a rig starts."""

    def __init__(self, site):
        self.file = site.folder / "clock"
        self.step(0)
        site.environment |= {
            "LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, seconds):
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+d}")
        new.rename(self.file)


def look(options, store, **settings):
    with rig.Rig(options.sealpost, role="publisher", **settings) as site:
        clock = Clock(site)
        daemon, _ = site.serve()
        connection = site.connect()
        order = {"Payload": "until next month", "Recipients": ["alice"], "ExpiresIn": 30 * DAY}
        ids = [api.post(connection, order) for _ in range(options.count)]
        session = api.ask(connection, "POST", "/api/sessions", {"ExpiresIn": 90 * DAY})
        credentials = f"Bearer {session['Token']}"

        def check(when, expected):
            connection = site.connect()
            answers = [api.status(connection, f"/api/notifications/{id}", credentials) for id in ids]
            ready = api.ask(connection, "GET", "/readyz")
            doctor = command(site, "doctor")
            line = next(line for line in doctor.splitlines() if "clock" in line)
            print(f"{store}, {when}: {answers.count(200)} of {len(ids)} payloads; {ready}; {line}")
            if set(answers) != {expected}:
                raise SystemExit(f"{store}, {when}: the answers are {answers}")
            return "Warnings" in ready, line.startswith("fail")

        def expect(when, expected, is_held):
            if check(when, expected) != (is_held, is_held):
                raise SystemExit(f"{store}, {when}: /readyz or doctor judge the clock otherwise")

        expect("before", 200, False)
        clock.step(JUMP)
        # Long enough for the deletion of what has expired, which runs every thirty seconds.
        time.sleep(options.seconds)
        expect("while the clock is ahead", 200, True)
        clock.step(0)
        expect("when it is right again", 200, False)
        clock.step(JUMP)
        time.sleep(1)
        code, said = processes.terminate(daemon)
        daemon, _ = site.serve()
        expect("after a start with the wrong clock", 200, True)
        print(command(site, "clock", "accept").strip())
        expect("after the clock was accepted", 401, False)
        processes.wait_until(lambda: is_gone(site, ids), 60, "the deletion", daemon, pause=1)
        code, said = processes.terminate(daemon)
        if code:
            raise SystemExit(f"the daemon ended with {code}: {said}")


def is_gone(site, ids):
    connection = site.connect()
    return all(api.status(connection, f"/api/notifications/{id}") == 404 for id in ids)


def command(site, *arguments):
    """Runs a command; its output. A shell starts it: in its first process the library changes the environment, and
    Swift's runtime then does not find the arguments."""
    done = subprocess.run(
        ["/bin/bash", "-c", 'exec "$0" "$@"', site.sealpost, *arguments], cwd=site.folder, env=site.environment,
        capture_output=True, text=True,
    )
    return done.stdout + done.stderr
