"""Tests that a user's devices show what another device, the publisher or the time has changed.

1. A stream, a page in Chromium and a phone behind simulated APNs, with the clients' own code, show each of six changes in time.
2. None of 10,000 devices shows a broadcast 30 s after its recall. Tally and simulators count the same looks.
3. Beside a user who marks 500 notifications again and again, posts take at most 1.25 times as long (p99), and each of the
   user's other devices gets at most one push in ten seconds.

With --control the senders have no looks; then the program must fail. With --postgresql it does the third part on PostgreSQL.
"""

import collections
import contextlib
import itertools
import json
import multiprocessing
import statistics
import subprocess
import threading
import time

from sealpost_e2e import api, chromium, crew, figures, outbox, postgresql, processes, require, rig
from sealpost_e2e.programs import conservation, web_client

STREAM, PUSH, RECALL, INTERVAL = 2, 10, 30, 10  # Seconds.
MARKED, TURNS, SECONDS, SLOWDOWN = 500, 12, 5, 1.25
HANDLE, DEVICES = "ab" * 32, {"apns": 3334, "fcm": 3333, "wns": 3333}
RESULT = {"Payload": "your result", "To": ["username:anna"]}
PAGE = """
    globalThis.push = await PushClient.open({signatures, title: 'Clinic', worker: '/worker.js'});
    await push.signIn('anna', password).then(() => push.startWorker());
    (async () => { for await (const {id} of push.events()) console.debug(id); })();
"""
SHOWN = "navigator.serviceWorker.ready.then(ready => ready.getNotifications()).then(all => all.map(({data}) => data.id))"
OPTIONS = {
    "--client": {"default": rig.ROOT / ".build/debug/ClientProgram", "help": "the phone's app (.build/debug/ClientProgram)"},
    "--control": "without looks: the program must then fail", "--postgresql": "the third part alone, on PostgreSQL",
}


class Site(web_client.Site, outbox.Outbox):
    """A daemon with the senders and the origin of a page."""


def start(site, options):
    """Starts the simulators, and a daemon with their senders beside those of the site's configuration."""
    text = site.configuration.read_text() if site.configuration.exists() else "senders:\n"
    # The proxy leads everything to the receiver of Web Push. The simulators are reached without it.
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("proxy:"))
    site.simulate(channels=DEVICES["wns"])
    interval = "" if options.control else f"lookInterval: {INTERVAL}s, "
    senders = site.configuration.read_text().removeprefix("senders:\n").replace("{type:", f"{{{interval}type:")
    site.configuration.write_text(text + senders)
    if not options.postgresql:
        with site.database() as database:
            for platform, count in DEVICES.items():
                outbox.add_devices(database, platform, count, channels=site.channels())
    site.serve()


class Stream:
    """A device that lists what is unread after each event of its stream."""

    name, limit = "stream", STREAM

    def __init__(self, site):
        self.site, self.state = site, {"shown": [], "badge": 0}
        connection = site.connect()
        self.credentials, id = register(connection, "anna", Platform="stream")
        connection.request("GET", f"/api/stream?device={id}", headers={"Authorization": self.credentials})
        threading.Thread(target=self.listen, args=[connection.getresponse()], daemon=True).start()

    def listen(self, events):
        with contextlib.suppress(OSError, ValueError):
            for line in (line for line in events if line.startswith(b"data: ")):
                found = self.site.ask("GET", "/api/notifications?unread=true", credentials=self.credentials)["Notifications"]
                unread, shown = {one["Id"] for one in found}, [*self.state["shown"], int(json.loads(line[6:])["secureId"])]
                self.state = {"shown": [id for id in shown if id in unread], "badge": len(unread)}


class Page:
    """The client for browsers: a page with an event stream, and its worker."""

    name, limit = "page", STREAM

    def __init__(self, browser, site):
        self.visitor = web_client.Visitor(browser, site)
        self.visitor.open("/plain.html")
        self.visitor.ask(site.script(PAGE))
        processes.wait_until(lambda: self.visitor.registration is not None, 20, "the worker's registration")

    @property
    def state(self):
        return {"shown": self.visitor.ask(SHOWN), "badge": self.visitor.ask("push.cachedBadge()")}


class Phone(crew.Crew):
    """`Tests/ClientProgram` as an app, to which a thread forwards what the simulated APNs has got."""

    name, limit = "phone", PUSH

    def __init__(self, site, program):
        command = [program, "phone", f"http://127.0.0.1:{site.port}", "anna", api.PASSWORD, HANDLE]
        self.site, self.process = site, site.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)
        self.state = json.loads(self.process.stdout.readline())
        super().__init__(self.listen)

    def do(self, verb, id):
        with self.lock:
            print(verb, id, file=self.process.stdin, flush=True)
            self.state = json.loads(self.process.stdout.readline())

    def listen(self):
        done = 0
        while not self.ends.wait(0.1):
            pushes = [push for *_, push, _, device in self.site.received() if device == HANDLE]
            with self.site.database() as database:
                rows = database.execute("select id, seed, (select max(number) from device where platform = 'apns') from notification")
                ids = {outbox.apns_id(seed, number): id for id, seed, number in rows}
            for push in pushes[done:]:
                self.do("push", ids.get(push, 1))  # The id of an older look may be deleted.
            done = len(pushes)


def register(connection, name, **device):
    """Registers a device of the user with a session of its own. Returns the credentials and the device's id."""
    session = api.sign_in(connection, name)
    return session, api.register(connection, session, **device)


def change_everything(site, *devices):
    """Makes each change. Yields whether the other devices show it in time."""
    stream, page, phone = devices
    recall = lambda **by: site.ask("DELETE", f"/api/notifications/{id}", **by)

    def post(**more):
        page.visitor.push(id := site.post(RESULT | more))
        processes.wait_until(lambda: all(id in device.state["shown"] for device in devices), 20, "a push on all devices")
        return id

    def check(name, badge, change, *others):
        expected, times = {"shown": [], "badge": badge}, {}
        time.sleep(INTERVAL)  # Until the interval of the last looks has ended.
        assert all(one.state != expected for one in others), f"{name}: it is shown before"
        change()
        start = time.monotonic()
        while len(times) < len(others) and time.monotonic() < start + 2 * PUSH:
            times |= {one: time.monotonic() - start for one in others if one not in times and one.state == expected}
            time.sleep(0.02)
        text = ", ".join(f"{one.name} {times.get(one, 99):.1f} s" for one in others)
        return figures.report(all(times.get(one, 99) <= one.limit for one in others), f"{name}: {text}")

    id = post()
    yield check("read by the page", 0, lambda: page.visitor.ask(f"push.markRead([{id}])"), stream, phone)
    yield check("marked as new by the phone", 1, lambda: phone.do("unread", id), stream, page)
    id = post()
    yield check("dismissed by the stream's device", 1, lambda: recall(credentials=stream.credentials), page, phone)
    id = post()
    yield check("recalled", 1, recall, *devices)
    end = time.monotonic() + INTERVAL + 5
    id = post(ExpiresIn=INTERVAL + 5)
    yield check("expired", 1, lambda: time.sleep(max(0, end - time.monotonic())), *devices)
    id = post(ReadOnce=True)
    yield check("taken by the phone", 1, lambda: phone.do("take", id), stream, page)
    page.visitor.open("/plain.html")  # Ends the page's stream.
    page.visitor.push(id := site.post(RESULT))
    recall()
    page.visitor.push(id := site.post(RESULT))
    page.visitor.until(f"{SHOWN}.then(all => String(all) === '{id}')", "the end of a recalled notification with the next push")


def recall_broadcast(site):
    """Recalls a broadcast. Yields whether its devices stop showing it, as their providers count, and whether the tally agrees."""
    id = site.post({"Payload": "a false alarm", "To": ["news", "username:anna"]})
    names, count = conservation.pushes_of(site, id), sum(DEVICES.values()) + 1
    # The last push of each device, as a look ends what it shows.
    showing = lambda: sum({(platform, device): push in names for _, platform, push, _, device in site.received()}.values())
    processes.wait_until(lambda: showing() == count, 120, "the broadcast on all devices", pause=0.5)
    start = time.monotonic()
    site.ask("DELETE", f"/api/notifications/{id}")
    while (left := showing()) and time.monotonic() < start + 2 * RECALL:
        time.sleep(0.5)
    seconds = time.monotonic() - start
    yield figures.report(not left and seconds <= RECALL, f"a recall on {count} devices: after {seconds:.1f} s {left} show it")
    time.sleep(2)  # The simulators write their log each second.
    counted, sums = collections.Counter(platform for _, platform, *_ in site.received()), site.tally()
    with site.database() as database:
        told = collections.Counter(dict(database.execute("select lane, count from tally where state = 'accepted'")))
    status = site.call("status", "--config", site.configuration)
    difference = sums["enqueued"] - sum(sums[state] for state in (*outbox.STATES, "pending"))
    agrees = all(told[name] + told[f"{name}/look"] == counted[name] and f"{name}/look" in status for name in DEVICES)
    text = f"accepted in the tally {dict(told)}, at the simulators {dict(counted)}; difference of all pushes {difference}"
    yield figures.report(agrees and not difference, text)


def storm(port, credentials, ids):
    """Marks notifications as read together each second, and some as new in between, until it is killed. Without ids it ends."""
    connection = api.connect(port)
    while ids:
        api.ask(connection, "POST", "/api/notifications/read", {"Ids": ids}, credentials)
        for id in ids[:50]:
            api.ask(connection, "PATCH", f"/api/notifications/{id}", {"Read": False}, credentials)
            time.sleep(1 / 50)


def post_beside_storm(site):
    """Posts with and without a storm of marks in turns. Yields whether the times are in their limit, and the storm's looks."""
    connection, handles = site.connect(), [f"{number:064x}" for number in range(10)]
    ids = [api.post(connection, {"Payload": "a result", "To": ["username:carl"]}) for _ in range(MARKED)]
    session, _ = [register(connection, "carl", Platform="apns", Handle=handle) for handle in handles][0]
    (body := site.folder / "post").write_text('{"Payload": "a result"}')
    url, found = f"http://127.0.0.1:{site.port}/api/notifications", ([], [])
    for turn in range(TURNS):
        marker = multiprocessing.Process(target=storm, args=[site.port, session, ids if turn % 2 else []], daemon=True)
        marker.start()
        found[turn % 2].append(figures.percentile(figures.steady_requests(site, url, SECONDS, "--data", body, rate=10, status="201")))
        marker.kill()
    time.sleep(INTERVAL + 2)
    alone, beside = map(statistics.median, found)
    text = f"p99 of posts {alone * 1000:.1f} ms, beside marks {beside * 1000:.1f} ms: {beside / alone:.2f} (at most {SLOWDOWN})"
    yield figures.report(beside <= SLOWDOWN * alone, text)
    arrivals = [[at for at, *_, device in site.received() if device == handle] for handle in handles[1:]]
    least = min((later - earlier for each in arrivals for earlier, later in itertools.pairwise(each)), default=0)
    text = f"{sum(map(len, arrivals))} looks of {len(arrivals)} devices, at least {least:.1f} s between two of one"
    yield figures.report(all(arrivals) and least > INTERVAL - 1, text)


def run(options):
    results = []
    with contextlib.ExitStack() as stack:
        if options.postgresql:
            site = stack.enter_context(outbox.Outbox(options.sealpost, DATABASE=stack.enter_context(postgresql.Cluster()).url))
            site.add_user("carl")
            start(site, options)
        else:
            site = stack.enter_context(Site(options.sealpost))
            start(site, options)
            with chromium.Chromium() as browser, Phone(site, options.client) as phone:
                browser.call("Browser.grantPermissions", permissions=["notifications"], origin=site.origin)
                results += change_everything(site, Stream(site), Page(browser, site), phone)
            results += recall_broadcast(site)
        results += post_beside_storm(site)
    require(all(results))
