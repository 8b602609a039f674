"""Tests that a user's devices show what another device, the publisher or the time has changed.

1. A stream, a page in Chromium and a phone behind simulated APNs, with the clients' own code, show each of six changes in time.
2. Each of 10,000 devices gets a look within 30 s after a broadcast's recall. Part 1 shows that a client then removes the
   notification. Status and simulators count the same pushes.
3. Beside a user who marks 500 notifications again and again, posts take at most 1.25 times as long (p99), and each of the
   user's other devices gets at most one push in ten seconds. Turns are short, so that most of them have no stall of the disk:
   the median p99 of 30 short turns varies half as much as that of 12 long ones.

With --control the senders have no looks; then the program must fail. With --postgresql it does the other parts on PostgreSQL.
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
from sealpost_e2e.programs import web_client

STREAM, PUSH, RECALL, INTERVAL = 2, 10, 30, 10  # Seconds.
MARKED, TURNS, SECONDS, SLOWDOWN = 500, 60, 2, 1.25
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
    "--control": "without looks: the program must then fail", "--postgresql": "without the first part, on PostgreSQL",
}


class Site(web_client.Site, outbox.Outbox):
    """A daemon with the senders and the origin of a page."""


def start(site, options, cluster):
    """Starts simulators, and a daemon with their senders and those of the site, with the data in the cluster if any."""
    text = site.configuration.read_text() if site.configuration.exists() else "senders:\n"
    # The proxy leads everything to the receiver of Web Push. The simulators are reached without it.
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("proxy:"))
    site.simulate(channels=DEVICES["wns"])
    interval = "" if options.control else f"lookInterval: {INTERVAL}s, "
    senders = site.configuration.read_text().removeprefix("senders:\n").replace("{type:", f"{{{interval}type:")
    site.configuration.write_text(text + senders)
    with site.database() as database:
        for platform, count in DEVICES.items():
            outbox.add_devices(database, platform, count, channels=site.channels())
    if cluster:
        ask_program(site, "move", "--to", cluster.url)
        site.environment["SEALPOST_DATABASE"] = cluster.url
    site.serve()


def ask_program(site, *command):
    """The answer of a command of the program."""
    return json.loads(site.call(*command, "--json", "--config", site.configuration))


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
    yield check("read by the page", 0, lambda: page.visitor.ask(f"push.outbox.markRead([{id}])"), stream, phone)
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


def recall_broadcast(site, *users):
    """Recalls a broadcast. Yields whether each device gets a look, as its provider counts, and the status agrees."""
    # The last push that each device's provider has accepted.
    last = lambda: {(name, device): push for _, name, push, status, device in site.received() if status == "200"}
    connection, count, before = site.connect(), sum(DEVICES.values()) + len(users), set(last().values())
    start = time.monotonic()
    id = api.post(connection, {"Payload": "a false alarm", "To": ["news", *users]})
    reached = lambda: sum(push not in before for push in last().values())
    processes.wait_until(lambda: reached() == count, 120, "the broadcast on all devices", pause=0.5)
    middle, shown = time.monotonic(), set(last().values())
    api.ask(connection, "DELETE", f"/api/notifications/{id}")
    while (left := sum(push in shown for push in last().values())) and time.monotonic() < middle + 2 * RECALL:
        time.sleep(0.5)
    seconds = time.monotonic() - middle
    text = f"a recall on {count} devices: after {seconds:.1f} s {left} have no look; the broadcast took {middle - start:.1f} s"
    yield figures.report(not left and seconds <= RECALL, text)
    time.sleep(2)  # The simulators write their log each second.
    counted = collections.Counter(name for _, name, _, status, _ in site.received() if status == "200")
    lanes = {lane["Name"]: lane for lane in ask_program(site, "status")["Lanes"] if lane["Name"].split("/")[0] in DEVICES}
    told, pending = collections.Counter(), sum(lane["Pending"] for lane in lanes.values())
    for name, lane in lanes.items():
        told[name.split("/")[0]] += lane["Accepted"]
    text = f"accepted in the status {dict(told)}, at the simulators {dict(counted)}; {pending} pending"
    yield figures.report(told == counted and not pending and len(lanes) == 2 * len(DEVICES), text)


def storm(port, credentials, ids):
    """Marks notifications as read together, and some as new, twice a second until it is killed. Without ids it ends."""
    connection = api.connect(port)
    while ids:
        api.ask(connection, "POST", "/api/notifications/read", {"Ids": ids}, credentials)
        for id in ids[:25]:
            api.ask(connection, "PATCH", f"/api/notifications/{id}", {"Read": False}, credentials)
            time.sleep(1 / 50)


def post_beside_storm(site):
    """Posts in turns with and without a storm of marks. Yields whether posts stay fast, and whether looks stay rare."""
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
        cluster = stack.enter_context(postgresql.Cluster()) if options.postgresql else None
        site = stack.enter_context((outbox.Outbox if cluster else Site)(options.sealpost))
        if cluster:
            site.add_user("carl")
        start(site, options, cluster)
        if not cluster:
            with chromium.Chromium() as browser, Phone(site, options.client) as phone:
                browser.call("Browser.grantPermissions", permissions=["notifications"], origin=site.origin)
                results += change_everything(site, Stream(site), Page(browser, site), phone)
        results += recall_broadcast(site, *([] if cluster else ["username:anna"]))
        results += post_beside_storm(site)
    require(all(results))
