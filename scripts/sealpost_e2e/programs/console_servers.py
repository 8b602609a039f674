"""Tests the consoles of two servers on one PostgreSQL while one is stopped, resumed, killed and restarted.

Each console has an operator in its own browser. It must show a stopped server (SIGSTOP) as silent, then as gone; as running after
SIGCONT; a killed one as gone; as running after a restart. Meanwhile the other console can add users. The operator of the killed
server stays signed in. The rules of `screen` judge each page.
"""

import contextlib
import json
import time

from sealpost_e2e import api, chromium, postgresql, require, several
from sealpost_e2e.programs.console import ADMINISTRATOR, Operator, Watch, sign_in

TIMEOUT = 60  # Seconds for a change: a server is late after five and gone after up to fifteen, and a page polls every five.
LEASE = 5  # Seconds without a sign of life, after which a server counts as silent.


def run(options):
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, 2) as site, contextlib.ExitStack() as stack:
        # Cheap hashes, as other work of the machine delays them.
        site.environment |= {"SEALPOST_PASSWORDS_MEMORY": "7168", "SEALPOST_PASSWORDS_PASSES": "5"}
        site.add_user(ADMINISTRATOR, "admin")
        site.simulate()
        site.begin_all()
        desk = open_console(stack, options, site.ports[0], "desk", "light")
        phone = open_console(stack, options, site.ports[1], "phone", "dark")
        go_through(site, desk, phone)
        print(f"both consoles have told of each change: {desk.judged + phone.judged} pages judged; no error, no violation of the policy")


def open_console(stack, options, port, size, theme):
    """An operator who looks at a server's overview."""
    browser = stack.enter_context(chromium.Chromium())
    base = f"http://127.0.0.1:{port}"
    operator = Operator(browser, Watch(browser, base), base, size, theme)
    sign_in(operator)
    return operator


def go_through(site, desk, phone):
    for operator, number in ((desk, 0), (phone, 1)):
        for other in range(2):
            await_state(operator, site, other, "Running", is_this=other == number)
        operator.judge("two servers that run")

    # A server calls no other gone in its first four seconds, which leaves time to see the silent one.
    stopped = row(site, 1)
    site.freeze(1)
    site.kill(0)
    time.sleep(LEASE)
    site.begin(0)
    desk.go("overview")
    await_state(desk, site, 1, "Silent")
    desk.judge("a server that is silent")
    await_state(desk, site, 1, "Gone")
    # The short-lived programs of `sealpost user` were in the list, too.
    desk.click(desk.ask("document.querySelector('details[data-key=gone] summary').textContent"))
    desk.judge("servers that are gone")
    add_user(desk, "while.stopped")

    site.thaw(1)
    await_state(desk, site, 1, "Running")
    # It has a new number: the old one stays gone.
    require(desk.ask(f"{stopped}.some(row => row.includes('Gone'))"), "the number that was taken from a server is no longer told of")
    await_state(phone, site, 1, "Running", is_this=True)
    add_user(phone, "after.the.stop")

    site.kill(1)
    dead = row(site, 1)
    desk.until(f"!{dead}.some(row => row.includes('Running') || row.includes('Silent'))", "the end of a server that was killed", TIMEOUT)
    desk.do("go users", "has after.the.stop")
    add_user(desk, "while.dead")
    desk.go("overview")
    site.begin(1)
    await_state(desk, site, 1, "Running")
    await_state(phone, site, 1, "Running", is_this=True)
    phone.do("judge a server that is back", "go users", "has while.dead")


def row(site, number):
    """JavaScript for the texts of the rows of a server's process."""
    name = f" {site.daemons[number].pid}"
    return (
        "[...document.querySelectorAll('tbody tr')].filter(row => "
        f"row.querySelector('.mono')?.textContent.endsWith({json.dumps(name)})).map(row => row.textContent)"
    )


def await_state(operator, site, number, state, is_this=False):
    """Waits until the overview shows a server in a state."""
    texts, words = row(site, number), json.dumps(" · this one" if is_this else "")
    operator.until(f"{texts}.some(row => row.includes({json.dumps(state)}) && row.includes({words}))", f"{state} of server {number}", TIMEOUT)


def add_user(operator, name):
    """Adds a user by the page, which proves that it works, and returns to the overview."""
    operator.do(
        "go users", "click Add a user", f"type {name}", f"fill Password: {api.PASSWORD}", "click Add", f"told {name} is added.", "go overview"
    )
