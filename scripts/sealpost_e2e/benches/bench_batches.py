"""Notifications a second by batches of 500, compared with single posts, in a large table.

  one      a client with one connection posts in sequence; each answer follows its durable commit
  batch    a client with one connection sends batches of 500 in sequence
  many     64 connections post in sequence
  beside   `many` while two more connections send batches without a pause

The bench fails if batches are less than ten times as fast as single posts of one client, or if the 99th percentile of single posts
beside batches exceeds both 50 ms and twice that without batches.
"""

import json
import statistics
import subprocess

from sealpost_e2e import api, figures, processes, require
from sealpost_e2e.benches import growth

USERS, BATCH = 16, 500
LIMIT, SLOWEST = 10, 50  # Times; milliseconds, of 99 in 100.

# A script of wrk. Each payload differs.
SINGLES = """
local number = 0
wrk.method, wrk.headers["Authorization"] = "POST", "%(credentials)s"
function request()
    number = number + 1
    return wrk.format(nil, nil, nil, '{"Payload":"Your code is ' .. number .. '.","To":["username:user' .. number %% %(users)d .. '"]}')
end
"""
BATCHES = """
local number = 0
wrk.method, wrk.headers["Authorization"] = "POST", "%(credentials)s"
function request()
    local orders = {}
    for index = 1, %(batch)d do
        number = number + 1
        orders[index] = '{"Payload":"Your code is ' .. number .. '.","To":["username:user' .. number %% %(users)d .. '"]}'
    end
    return wrk.format(nil, nil, nil, '{"Notifications":[' .. table.concat(orders, ",") .. "]}")
end
"""
OPTIONS = {
    "--rounds": (5, "rounds"), "--seconds": (5, "for each measurement"),
    "--size": {"choices": growth.SIZES, "default": "10^5", "help": "number of stored notifications (10^5)"},
}


class Site(growth.Site):
    """A daemon with a large database, a publisher and its recipients."""

    def __init__(self, sealpost, size):
        super().__init__(sealpost, size)
        self.add_user("paul", "publisher")
        for number in range(USERS):
            self.add_user(f"user{number}")
        self.fill()
        self.begin()
        credentials = api.sign_in(self.connection, "paul")
        values = {"credentials": credentials, "users": USERS, "batch": BATCH}
        self.scripts = {}
        for name, text in {"single": SINGLES, "batch": BATCHES}.items():
            self.scripts[name] = self.folder / f"{name}.lua"
            self.scripts[name].write_text(text % values)
        outcomes = api.ask(
            self.connection, "POST", "/api/notifications/batch",
            {"Notifications": [{"Payload": 1, "To": [f"username:user{number % USERS}"]} for number in range(BATCH)]}, credentials,
        )["Outcomes"]
        require(not any(outcome["Status"] != 201 for outcome in outcomes), json.dumps(outcomes[:3]))

    def command(self, kind, connections, seconds):
        path = "/api/notifications" + ("/batch" if kind == "batch" else "")
        url = f"http://127.0.0.1:{self.port}{path}"
        return figures.load_command(url, seconds, connections, 1, "--timeout", "30s", "--script", self.scripts[kind])

    def run(self, kind, connections, seconds):
        """Requests a second, and the 99th percentile in milliseconds."""
        return figures.read_load(processes.run(*self.command(kind, connections, seconds)))


def run(options):
    with Site(options.sealpost, options.size) as site:
        rounds = [measure(site, number, options.seconds) for number in range(1, options.rounds + 1)]
    ratio, alone, slowest = (statistics.median(row[column] for row in rounds) for column in range(3))
    print(f"batch / one, median of {options.rounds}: {ratio:.1f} (at least {LIMIT})")
    print(
        f"99 of 100 posts beside batches, median of {options.rounds}: within {slowest:.1f} ms, without {alone:.1f} ms (at most "
        f"{SLOWEST}, or twice as long)"
    )
    require(ratio >= LIMIT and slowest <= max(SLOWEST, 2 * alone))


def measure(site, number, seconds):
    one, _ = site.run("single", 1, seconds)
    batches, slowest_batch = site.run("batch", 1, seconds)
    many, alone = site.run("single", 64, seconds)
    others = subprocess.Popen([str(word) for word in site.command("batch", 2, seconds)], stdout=subprocess.PIPE, text=True)
    try:
        beside, slowest = site.run("single", 64, seconds)
        together, _ = figures.read_load(others.communicate(timeout=60)[0])
    finally:
        others.kill()
    print(
        f"round {number}: {batches * BATCH / one:.1f}  (a second: one {one:.0f}, batch {batches * BATCH:.0f}, many {many:.0f}, "
        f"beside {beside:.0f} and {together * BATCH:.0f}; 99 of 100 within: batch {slowest_batch:.1f} ms, many {alone:.1f} ms, "
        f"beside {slowest:.1f} ms)",
        flush=True,
    )
    return batches * BATCH / one, alone, slowest
