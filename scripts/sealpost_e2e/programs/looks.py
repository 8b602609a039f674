"""Tests that a user's devices show what another device, the publisher or the time has changed.

1. A stream, a page in Chromium and a phone behind simulated APNs show each of six changes: those with a stream within 2 s, the
   phone within 10 s. Page and phone are the clients for browsers and for Swift. A page without a stream shows it with its next push.
2. 30 s after the recall of a broadcast, none of 10,000 devices of APNs, FCM and WNS shows it. The tally has the looks that the
   simulators have counted, in lanes of their own.
3. Beside a user who marks 500 notifications again and again, posts take at most 1.25 times as long (p99), and each of the
   user's other devices gets at most one push in ten seconds.

With --control the senders have no looks; then the program must fail. With --postgresql it does the third part on PostgreSQL.
"""

import collections
import contextlib
import itertools
import json
import multiprocessing
import os
import subprocess
import tempfile
import threading
import time

from sealpost_e2e import api, chromium, crew, figures, outbox, postgresql, processes, rig
from sealpost_e2e.programs import conservation, web_client

HANDLE = "ab" * 32
STREAM, PUSH, RECALL = 2, 10, 30  # Seconds.
INTERVAL = 10
DEVICES = {"apns": 3334, "fcm": 3333, "wns": 3333}
MARKED, TURNS, SLOWDOWN = 500, 6, 1.25
RESULT = {"Payload": "your result", "To": ["username:anna"]}
PAGE = """(async () => {
    const {PushClient} = await import('/sealpost/sealpost.js');
    globalThis.push = await PushClient.open({signatures: %s, title: 'Clinic', worker: '/worker.js'});
    await push.signIn('anna', %s);
    await push.startWorker();
    (async () => { for await (const {id} of push.events()) console.debug(id); })();
})()"""
SHOWN = "navigator.serviceWorker.ready.then(ready => ready.getNotifications()).then(all => all.map(({data}) => data.id))"


class Site(web_client.Site, outbox.Outbox):
    """A daemon with the page's senders."""


def add_simulators(site, has_looks=True):
    """Adds the simulators' senders to those of the site's configuration."""
    text = site.configuration.read_text() if site.configuration.exists() else "senders:\n"
    site.simulate(channels=DEVICES["wns"])
    senders = site.configuration.read_text().removeprefix("senders:\n")
    site.configuration.write_text(text + (senders.replace("{type:", f"{{lookInterval: {INTERVAL}s, type:") if has_looks else senders))


class Stream:
    """A device that lists what is unread after each event of its stream."""

    name, limit = "stream", STREAM

    def __init__(self, site):
        self.site, self.state = site, {"shown": [], "badge": 0}
        connection = site.connect()
        self.credentials, id = register(connection, "anna", Platform="stream")
        connection.request("GET", f"/api/stream?device={id}", headers={"Authorization": self.credentials})
        self.events = connection.getresponse()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.events:
                if line.startswith(b"data: "):
                    id = int(json.loads(line[6:])["secureId"])
                    found = self.site.ask("GET", "/api/notifications?unread=true", credentials=self.credentials)["Notifications"]
                    unread = {one["Id"] for one in found}
                    self.state = {"shown": [one for one in [*self.state["shown"], id] if one in unread], "badge": len(unread)}


class Page:
    """The client for browsers: a page with an event stream, and its worker."""

    name, limit = "page", STREAM

    def __init__(self, browser, site):
        self.visitor = web_client.Visitor(browser, site)
        self.visitor.open("/plain.html")
        self.visitor.ask(PAGE % (json.dumps(site.signatures), json.dumps(api.PASSWORD)))
        processes.wait_until(lambda: self.visitor.registration is not None, 20, "the worker's registration")

    @property
    def state(self):
        return {"shown": self.visitor.ask(SHOWN), "badge": self.visitor.ask("push.cachedBadge()")}


class Phone(crew.Crew):
    """`Tests/ClientProgram` as an app, to which a thread forwards what the simulated APNs has got."""

    name, limit = "phone", PUSH

    def __init__(self, site, program):
        arguments = [program, "phone", f"http://127.0.0.1:{site.port}", "anna", api.PASSWORD, HANDLE]
        self.site, self.process = site, site.start(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)
        self.state = json.loads(self.process.stdout.readline())
        super().__init__(self.listen)

    def do(self, verb, id):
        with self.lock:
            print(verb, id, file=self.process.stdin, flush=True)
            self.state = json.loads(self.process.stdout.readline())

    def listen(self):
        done = 0
        while not self.ends.wait(0.1):
            pushes = [push for _, push, _, device in self.site.received() if device == HANDLE]
            with self.site.database() as database:
                rows = database.execute("select id, seed, (select max(number) from device where platform = 'apns') from notification")
                ids = {outbox.apns_id(seed, number): id for id, seed, number in rows}
            for push in pushes[done:]:
                # The id of an older look may be deleted.
                self.do("push", ids.get(push, 1))
            done = len(pushes)


def register(connection, name, **device):
    """Registers a device of the user with a session of its own. Returns the credentials and the device's id."""
    session = api.sign_in(connection, name)
    id = api.ask(connection, "POST", "/api/register", credentials=session)
    api.ask(connection, "PUT", f"/api/register/{id}", device, session)
    return session, id


def change_everything(site, stream, page, phone):
    """Makes each change. Returns whether the other devices show it in time."""
    devices = stream, page, phone

    def post(**more):
        id = site.post(RESULT | more)
        page.visitor.push(id)
        processes.wait_until(lambda: all(id in device.state["shown"] for device in devices), 20, "a push on all devices")
        return id

    def check(name, badge, change, *others):
        # Until the interval of the last looks has ended.
        time.sleep(INTERVAL)
        expected, times = {"shown": [], "badge": badge}, {}
        if any(device.state == expected for device in others):
            raise web_client.Wrong(f"devices show {expected} before the change: {name}")
        change()
        start = time.monotonic()
        while len(times) < len(others) and time.monotonic() < start + 2 * PUSH:
            times |= {one: time.monotonic() - start for one in others if one not in times and one.state == expected}
            time.sleep(0.02)
        text = ", ".join(f"{one.name} {times[one]:.1f} s" if one in times else f"{one.name} never" for one in others)
        return figures.report(all(times.get(one, 99) <= one.limit for one in others), f"{name}: {text}")

    first = post()
    results = [
        check("read by the page", 0, lambda: page.visitor.ask(f"push.markRead([{first}])"), stream, phone),
        check("marked as new by the phone", 1, lambda: phone.do("unread", first), stream, page),
    ]
    recall = lambda **by: site.ask("DELETE", f"/api/notifications/{id}", **by)
    id = post()
    results.append(check("dismissed by the stream's device", 1, lambda: recall(credentials=stream.credentials), page, phone))
    id = post()
    results.append(check("recalled", 1, recall, *devices))
    end = time.monotonic() + INTERVAL + 5
    post(ExpiresIn=INTERVAL + 5)
    results.append(check("expired", 1, lambda: time.sleep(max(0, end - time.monotonic())), *devices))
    id = post(ReadOnce=True)
    results.append(check("taken by the phone", 1, lambda: phone.do("take", id), stream, page))
    # Ends the page's stream.
    page.visitor.open("/plain.html")
    page.visitor.push(id := site.post(RESULT))
    recall()
    page.visitor.push(id := site.post(RESULT))
    page.visitor.until(f"{SHOWN}.then(all => String(all) === '{id}')", "the end of a recalled notification with the next push")
    return all(results)


def recall_broadcast(site):
    """Recalls a broadcast. Returns whether its devices stop showing it, as their providers count, and the tally agrees."""
    id, count = site.post({"Payload": "a false alarm", "To": ["news", "username:anna"]}), sum(DEVICES.values()) + 1
    names = conservation.pushes_of(site, id)

    def showing():
        shown = set()
        for platform, push, outcome, device in site.received():
            if outcome == "200":
                (shown.add if push in names else shown.discard)((platform, device))
        return shown

    def tally():
        with site.database() as database:
            rows = database.execute("select lane, count from tally where lane like '%/look' and lane not like 'stream%' and state = 'accepted'")
            return collections.Counter(dict(rows))

    processes.wait_until(lambda: len(showing()) == count, 120, "the broadcast on all devices", pause=0.5)
    before, lines = tally(), sum(1 for _ in site.received())
    start = time.monotonic()
    site.ask("DELETE", f"/api/notifications/{id}")
    while (left := len(showing())) and time.monotonic() < start + 2 * RECALL:
        time.sleep(0.2)
    seconds = time.monotonic() - start
    is_fine = figures.report(not left and seconds <= RECALL, f"a recall on {count} devices: after {seconds:.1f} s {left} show it")
    # The simulators write their log each second.
    time.sleep(2)
    told, sums = tally() - before, site.tally()
    counted = collections.Counter(f"{platform}/look" for platform, *_ in itertools.islice(site.received(), lines, None))
    status = processes.run(site.sealpost, "status", "--config", site.configuration, cwd=site.folder, env=site.environment)
    difference = sums["enqueued"] - sum(sums[state] for state in (*outbox.STATES, "pending"))
    text = f"looks in the tally {dict(told)}, at the simulators {dict(counted)}; difference of all pushes {difference}"
    return figures.report(told == counted and not difference and all(lane in status for lane in counted), text) and is_fine


def storm(port, credentials, ids):
    """Marks notifications as read together, and as new one after the other, until it is killed."""
    os.nice(10)
    connection = api.connect(port)
    while True:
        api.ask(connection, "POST", "/api/notifications/read", {"Ids": ids}, credentials)
        for id in ids:
            api.ask(connection, "PATCH", f"/api/notifications/{id}", {"Read": False}, credentials)
            time.sleep(0.01)


def post_beside_storm(site, seconds):
    """Posts with and without a storm of marks in turns. Returns whether the times, and the pushes of the storm, are in their limits."""
    connection, handles = site.connect(), [f"{number:064x}" for number in range(10)]
    ids = [api.post(connection, {"Payload": "a result", "To": ["username:carl"]}) for _ in range(MARKED)]
    session, _ = [register(connection, "carl", Platform="apns", Handle=handle) for handle in handles][0]
    body = site.folder / "post"
    body.write_text('"a result"')
    url, times = f"http://127.0.0.1:{site.port}/api/notifications", ([], [])
    for turn in range(TURNS):
        with contextlib.ExitStack() as stack:
            if turn % 2:
                marker = multiprocessing.Process(target=storm, args=[site.port, session, ids])
                marker.start()
                stack.callback(marker.kill)
            times[turn % 2].extend(figures.steady_requests(site, url, seconds, "--data", body, rate=20, status="201"))
    time.sleep(INTERVAL + 2)
    alone, beside = (figures.percentile(each) * 1000 for each in times)
    text = f"posts, p99 alone {alone:.1f} ms, beside marks {beside:.1f} ms: {beside / alone:.2f} (at most {SLOWDOWN})"
    is_fine = figures.report(beside <= SLOWDOWN * alone, text)
    lines = [line.split() for line in (site.folder / "received").read_text().splitlines()]
    arrivals = [[int(line[0]) / 1000 for line in lines if line[4] == handle] for handle in handles[1:]]
    least = min(later - earlier for each in arrivals for earlier, later in itertools.pairwise(each))
    text = f"{sum(map(len, arrivals))} looks of {len(arrivals)} devices, at least {least:.1f} s between two of one"
    return figures.report(all(arrivals) and least > INTERVAL - 1, text) and is_fine


def add_options(parser):
    parser.add_argument("--chromium", default="chromium", help="the browser (chromium)")
    parser.add_argument("--client", default=rig.ROOT / ".build/debug/ClientProgram", help="the phone's app (.build/debug/ClientProgram)")
    parser.add_argument("--seconds", type=int, default=10, help="for each turn of the third part (10)")
    parser.add_argument("--control", action="store_true", help="without looks: the program must then fail")
    parser.add_argument("--postgresql", action="store_true", help="the third part alone, on PostgreSQL")


def run(options):
    results = []
    with contextlib.ExitStack() as stack:
        if options.postgresql:
            site = stack.enter_context(outbox.Outbox(options.sealpost, DATABASE=stack.enter_context(postgresql.Cluster()).url))
            site.add_user("carl")
        else:
            site = stack.enter_context(Site(options.sealpost))
        add_simulators(site, not options.control)
        if not options.postgresql:
            with site.database() as database:
                for platform, count in DEVICES.items():
                    outbox.add_devices(database, platform, count, channels=site.channels())
        site.serve()
        if not options.postgresql:
            profile = stack.enter_context(tempfile.TemporaryDirectory(prefix="sealpost-browser-", ignore_cleanup_errors=True))
            try:
                with chromium.Chromium(profile, options.chromium) as browser, Phone(site, options.client) as phone:
                    browser.call("Browser.grantPermissions", permissions=["notifications"], origin=site.origin)
                    results.append(change_everything(site, Stream(site), Page(browser, site), phone))
            except web_client.Wrong as wrong:
                raise SystemExit(f"looks: {wrong}") from None
            results.append(recall_broadcast(site))
        results.append(post_beside_storm(site, options.seconds))
    if not all(results):
        raise SystemExit(1)
