"""Looks for secrets in all that the server writes down or says to others, after a hundred thousand requests.

Every route of `scripts/routes` is called by users of each role, rightly and wrongly: what is not JSON, of the wrong type,
too large, for somebody else, with wrong credentials, in paths, queries and fields of all kinds. Three words are hidden in
what is sent: one in passwords, payloads, collapse keys, credentials and fields; one in handles of devices; one in names and
tags. The first must be nowhere: not in the log at its finest level, in text and as JSON, not in the metrics, in no error, in
no byte of the database and its log, not in what the system tells of the process; in no case, base64, hexadecimal, UTF-16 or
percent encoding. The second neither. The third may be repeated to whoever sent it, and in the log where it says who did what.
"""

import collections
import datetime
import json
import pathlib
import random
import re
import threading
import urllib.parse

from sealpost_e2e import outbox, processes, rig
from sealpost_e2e.api import basic
from sealpost_e2e.canary import HANDLE, NAME, SECRET, TOKENS, Caller, Client, Results, check_search
from sealpost_e2e.searching import find

ROUTES = pathlib.Path(rig.ROOT / "scripts/routes").read_text().split("\n")[:-1]
THREADS = 4


def add_options(parser):
    parser.add_argument("--count", type=int, default=100_000, help="how many requests: %(default)s")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
        help="of the daemon, as the end of a variable's name, such as LIMITS_RATE=null")


def run(options):
    check_search()
    settings = dict(setting.split("=", 1) for setting in options.setting)
    with outbox.Outbox(options.sealpost, LOG_LEVEL="trace", EVENTS_KEEP=604800, **settings) as site:
        # What a provider refuses is logged, too.
        site.simulate("every 40: status 429 retry-after 1", channels=20)
        site.add_senders()
        hook = site.add_webhook()
        callers = [Caller(number, ("device", "publisher", "admin")[number % 3]) for number in range(12)]
        for caller in callers:
            site.add_user(caller.name, caller.role, caller.password)
        results = Results()
        for format in ("text", "json"):
            site.environment["SEALPOST_LOG_FORMAT"] = format
            daemon, _ = site.serve()
            work(site, hook, callers, results, results.count + options.count // 2)
            look_at_process(daemon, results)
            look_at_files(site, results)
            processes.terminate(daemon)
        look_at_log(site, results)
        look_at_files(site, results)
        look_for_codes(site, hook, results)
        report(results, site)


def work(site, hook, callers, results, end):
    """Sends requests from several threads until there are so many; each has its own callers."""
    def run(number):
        client, own = Client(site, results), callers[number::THREADS]
        for caller in own:
            tour(client, hook, caller, results)
        while results.count < end:
            act(client, random.choice(own), callers, results, site)
        client.close()

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# MARK: Requests

def tour(client, hook, caller, results):
    """Once along all that is done rarely, so that a short run calls every route with success, too."""
    for route in ("GET /api/register", "GET /api/tokens", "GET /api/users", "GET /api/audit", "GET /api/events", "GET /api/webpush/key",
        "GET /healthz", "GET /readyz", "GET /metrics", "GET /.well-known/sealpost-keys", "GET /openapi.json",
        "GET /api/sessions/current", "GET /api/status", "GET /console", "GET /console/"):
        client.send(caller, route)
    client.send(caller, "GET /console/{id}", "/console/console.js")
    client.send(caller, "POST /api/lanes/retry", body={"Lane": "fcm"})
    client.send(caller, "POST /api/setup", body={"Code": SECRET, "Name": NAME, "Password": f"{SECRET} made"})
    status, text = client.send(caller, "POST /api/users/{id}/enrolment", f"/api/users/{caller.name}/enrolment")
    client.send(caller, "POST /api/enrolment", body={"Code": json.loads(text).get("Code", SECRET)})
    client.send(caller, "GET /api/users/{id}", f"/api/users/{caller.name}")
    client.send(caller, "PUT /api/users/current/password", body={"Current": f"{SECRET} wrong", "New": caller.password})
    client.send(caller, "PUT /api/users/current/password", body={"Current": caller.password, "New": caller.password})
    status, text = client.send(caller, "POST /api/sessions")
    keep_token(status, text, caller.sessions, results)
    client.send(caller, "DELETE /api/sessions/current", authorization=f"Bearer {caller.sessions.pop()}")
    status, text = client.send(caller, "POST /api/register")
    device = json.loads(text)
    client.send(caller, "PUT /api/register/{id}", f"/api/register/{device}", {"Platform": "fcm", "Handle": f"{HANDLE}{caller.number}"})
    client.send(caller, "POST /api/devices/{id}/test", f"/api/devices/{device}/test")
    topic = f"/api/devices/{device}/topics/{NAME}"
    client.send(caller, "PUT /api/devices/{id}/topics/{topic}", topic)
    client.send(caller, "DELETE /api/devices/{id}/topics/{topic}", topic)
    client.send(caller, "PUT /api/register/{id}", f"/api/register/{device}", {"Platform": "stream"})
    client.send(caller, "GET /api/stream")
    # Its push waits for a stream.
    status, text = client.send(caller, "POST /api/notifications", body={"Payload": SECRET})
    push = f"/api/notifications/{json.loads(text).get('Id', 0)}/deliveries/{device}"
    for method in ("POST", "DELETE"):
        client.send(caller, f"{method} /api/notifications/{{id}}/deliveries/{{device}}", push)
    handle = f"{HANDLE}-hook-{caller.number}"
    client.send(caller, "PUT /api/register/{id}", f"/api/register/{device}", {"Platform": "hook", "Handle": handle})
    confirmation = "POST /api/register/{id}/confirmation", f"/api/register/{device}/confirmation"
    client.send(caller, *confirmation, json.dumps(SECRET))
    client.send(caller, *confirmation, json.dumps(hook.code(handle)))
    client.send(caller, "GET /api/devices", f"/api/devices?user={caller.name}")
    client.send(caller, "DELETE /api/devices/{id}", f"/api/devices/{device}")
    client.send(caller, "DELETE /api/register/{id}", f"/api/register/{device}")
    status, text = client.send(caller, "POST /api/notifications", body={"Payload": SECRET})
    path = f"/api/notifications/{json.loads(text)['Id']}"
    client.send(caller, "POST /api/notifications/batch", body={"Notifications": [{"Payload": SECRET}, {"Payload": SECRET, "To": [NAME]}]})
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)).isoformat()
    client.send(caller, "POST /api/notifications", body={"Payload": SECRET, "To": [f"{NAME}-later"], "SendAt": soon})
    client.send(caller, "GET /api/notifications", "/api/notifications?limit=5", fields={"Accept-Encoding": "gzip"})
    client.send(caller, "GET /api/notifications/{id}", path)
    client.send(caller, "PATCH /api/notifications/{id}", path, {"Read": True})
    client.send(caller, "POST /api/notifications/read", body={"Ids": [json.loads(text)["Id"]]})
    client.send(caller, "GET /api/notifications/{id}/deliveries", f"{path}/deliveries")
    for method in ("POST", "DELETE"):
        client.send(caller, f"{method} /api/notifications/{{id}}/deliveries/{{device}}", f"{path}/deliveries/no-device")
    client.send(caller, "DELETE /api/notifications/{id}", path)
    status, text = client.send(caller, "POST /api/notifications", body={"Payload": SECRET, "ReadOnce": True})
    path = f"/api/notifications/{json.loads(text)['Id']}"
    client.send(caller, "GET /api/notifications/{id}", path)
    client.send(caller, "POST /api/notifications/{id}/taken", f"{path}/taken")
    status, text = client.send(caller, "POST /api/tokens", body={"User": caller.name})
    keep_token(status, text, caller.tokens, results)
    client.send(caller, "DELETE /api/tokens/{id}", f"/api/tokens/{caller.tokens.pop()[:12] if caller.tokens else 'spt_00000000'}")
    name = f"{NAME}-toured-{caller.number}"
    client.send(caller, "POST /api/users", body={"Name": name, "Password": f"{SECRET} made"})
    client.send(caller, "PATCH /api/users/{id}", f"/api/users/{name}", {"Role": "publisher"})
    client.send(caller, "PUT /api/users/{id}/tags", f"/api/users/{name}/tags", {"Tags": [f"{NAME}-given"]})
    client.send(caller, "GET /api/users/{id}/tags", f"/api/users/{name}/tags")
    client.send(caller, "DELETE /api/users/{id}", f"/api/users/{name}")


def act(client, caller, callers, results, site):
    roll = random.random()
    if roll < 0.55:
        collect(client, caller, callers, results)
    elif roll < 0.70:
        notify(client, caller, callers)
    elif roll < 0.78:
        register(client, caller, site)
    elif roll < 0.84:
        look_around(client, caller)
    elif roll < 0.88:
        sign_in_and_out(client, caller, results)
    elif roll < 0.90:
        administer(client, caller, callers, results)
    else:
        err(client, caller, callers, results)


def collect(client, caller, callers, results):
    other = random.choice(callers)
    if caller.ids and random.random() < 0.8:
        id, owner = random.choice(caller.ids)
        if random.random() < 0.02:
            client.send(caller, "DELETE /api/notifications/{id}", f"/api/notifications/{id}")
            # Other threads may have replaced the list meanwhile.
            caller.ids = [entry for entry in caller.ids if entry[0] != id]
            return
        client.send(caller, "GET /api/notifications/{id}", f"/api/notifications/{id}")
        if random.random() < 0.1:
            client.send(caller, "GET /api/notifications/{id}/deliveries", f"/api/notifications/{id}/deliveries")
    elif random.random() < 0.2:
        query = random.choice(("", "?limit=500", "?unread=true", f"?since={SECRET}", "?ids=1,2", f"?ids={SECRET}"))
        client.send(caller, "GET /api/notifications", f"/api/notifications{query}")
    elif other.ids:
        id, owners = random.choice(other.ids)
        status, text = client.send(caller, "GET /api/notifications/{id}", f"/api/notifications/{id}")
        if status == 200 and caller.number not in owners:
            results.fail(f"user {caller.number} got what is for {owners}: {text[:200]}")


def notify(client, caller, callers):
    text = f"{SECRET} payload {random.random()}"
    other = random.choice(callers) if caller.role != "device" else caller
    form = random.randrange(4)
    if form == 0:
        body, path = json.dumps(text), f"/api/notifications?to_tag={other.name}"
    else:
        body = {"Payload": [text, {text: None}, text * random.randrange(1, 400)][form - 1], "To": [f"username:{other.name}"]}
        body |= random.choice(({}, {"CollapseKey": f"{SECRET}-key"}, {"Store": "never", "ExpiresIn": 60}, {"Priority": "normal"}))
        if form == 3 and caller.role != "device":
            body["To"].append(f"{NAME}-tag-{random.randrange(9)} && !{NAME}-none")
        path = "/api/notifications"
    status, answer = client.send(caller, "POST /api/notifications", path, body)
    if status in (200, 201):
        entry = (json.loads(answer)["Id"], {caller.number, other.number} if form != 3 else set(range(len(callers))))
        other.ids = other.ids[-50:] + [entry]
        caller.ids = caller.ids[-50:] + [entry]


def register(client, caller, site):
    if len(caller.devices) > 3:
        client.send(caller, "DELETE /api/register/{id}", f"/api/register/{caller.devices.pop(0)}")
        return
    number = random.randrange(4)
    platform = ("apns", "fcm", "wns", "stream")[number]
    handle = (f"{HANDLE}{caller.number}".encode().hex().ljust(64, "0"), f"{HANDLE}-fcm-{caller.number}",
        site.channels()[caller.number], f"{HANDLE}-stream")[number]
    query = "" if platform == "wns" else f"?handle={handle}"
    status, text = client.send(caller, "POST /api/register", f"/api/register{query}", SECRET)
    if status != 200:
        return
    device = json.loads(text)
    body = {"Platform": platform, "Handle": handle, "Tags": [f"{NAME}-tag-{random.randrange(9)}"]}
    if client.send(caller, "PUT /api/register/{id}", f"/api/register/{device}", body)[0] == 200 and device not in caller.devices:
        caller.devices.append(device)


def look_around(client, caller):
    route = random.choice(("GET /api/register", "GET /api/webpush/key", "GET /healthz", "GET /readyz", "GET /metrics",
        "GET /api/stream", "POST /api/devices/{id}/test"))
    if "test" in route:
        # It waits for the provider, so it is rare.
        if caller.devices and random.random() < 0.05:
            client.send(caller, route, f"/api/devices/{random.choice(caller.devices)}/test")
    elif "stream" not in route or random.random() < 0.2:
        client.send(caller, route, fields={"Last-Event-ID": SECRET} if "stream" in route else {})


def sign_in_and_out(client, caller, results):
    if caller.sessions and random.random() < 0.5:
        token = caller.sessions.pop()
        client.send(caller, "DELETE /api/sessions/current", authorization=f"Bearer {token}")
        client.send(caller, "GET /api/register", authorization=f"Bearer {token}")
    elif caller.sessions and random.random() < 0.9:
        client.send(caller, "GET /api/register", authorization=f"Bearer {random.choice(caller.sessions)}")
    else:
        status, text = client.send(caller, "POST /api/sessions", body={"ExpiresIn": 600})
        keep_token(status, text, caller.sessions, results)


def keep_token(status, text, list, results):
    if status == 201:
        token = json.loads(text)["Token"]
        list.append(token)
        with results.lock:
            results.tokens.add(token)


def administer(client, caller, callers, results):
    action = random.randrange(6)
    name = f"{NAME}-made-{caller.number}"
    match action:
        case 0:
            status, text = client.send(caller, "POST /api/tokens", body={"User": random.choice(callers).name, "ExpiresIn": 600})
            keep_token(status, text, caller.tokens, results)
        case 1:
            client.send(caller, "GET /api/tokens", f"/api/tokens?user={random.choice(callers).name}")
        case 2:
            prefix = caller.tokens.pop()[:12] if caller.tokens else "spt_00000000"
            client.send(caller, "DELETE /api/tokens/{id}", f"/api/tokens/{prefix}")
        case 3:
            client.send(caller, "POST /api/users", body={"Name": name, "Password": f"{SECRET} made", "Role": "device"})
        case 4:
            client.send(caller, "PATCH /api/users/{id}", f"/api/users/{name}", {"Role": "publisher", "Password": f"{SECRET} new"})
        case 5:
            client.send(caller, "DELETE /api/users/{id}", f"/api/users/{name}")


def err(client, caller, callers, results):
    """One of the many ways to be wrong."""
    post, put, fetch = "POST /api/notifications", "PUT /api/register/{id}", "GET /api/notifications/{id}"
    quoted = urllib.parse.quote(f"{SECRET} ä\n")
    wrongs = [
        lambda: client.send(caller, post, body=f'{{"Payload":"{SECRET}'),
        lambda: client.send(caller, post, body=f'{{"Payload":{SECRET}}}'),
        lambda: client.send(caller, post, body=f'{{"{SECRET}":}}'),
        lambda: client.send(caller, post, body=f"[{SECRET}".encode("utf-16")),
        lambda: client.send(caller, post, body=b"\xff\xfe" + SECRET.encode()),
        lambda: client.send(caller, post, body=[SECRET]),
        lambda: client.send(caller, post, body={"Payload": SECRET, "To": 7}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "To": [f"(({NAME}"]}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "ExpiresIn": SECRET}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "Priority": SECRET, SECRET: SECRET}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "CollapseKey": SECRET * 100}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "Alert": {"BodyKey": SECRET}}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "Alert": SECRET}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "Alert": {SECRET: SECRET}}),
        lambda: client.send(caller, post, body={"Payload": SECRET, "To": ["username:nobody"]}),
        lambda: client.send(caller, post, body={"Payload": SECRET * 9000}),
        lambda: client.send(caller, post, body=SECRET * 20_000),
        lambda: client.send(caller, post, f"/api/notifications?to_tag={quoted}", json.dumps(SECRET)),
        lambda: client.send(caller, post, fields={"Expect": SECRET}),
        lambda: client.send(caller, post, body={"Payload": 1}, fields={"Idempotency-Key": SECRET, "X-Request-Id": f"{SECRET}."}),
        lambda: client.send(caller, put, "/api/register/x1", {"Platform": "mpns", "Handle": HANDLE}),
        lambda: client.send(caller, put, "/api/register/x1", {"Platform": "fcm", "Handle": f"{HANDLE} {HANDLE}"}),
        lambda: client.send(caller, put, "/api/register/x1", {"Platform": "wns", "Handle": f"https://{HANDLE}.example/{HANDLE}"}),
        lambda: client.send(caller, put, "/api/register/x1", {"Platform": "webpush", "Handle": json.dumps({"endpoint": HANDLE})}),
        lambda: client.send(caller, put, "/api/register/x1", {"Platform": "fcm", "Handle": [HANDLE], "Tags": SECRET}),
        lambda: client.send(caller, put, f"/api/register/{quoted}", {"Platform": "fcm", "Handle": HANDLE}),
        lambda: client.send(caller, "POST /api/register", f"/api/register?handle={HANDLE}%20x"),
        lambda: client.send(caller, fetch, f"/api/notifications/{SECRET}", fields={"If-None-Match": f'"{SECRET}"'}),
        lambda: client.send(caller, "PATCH /api/notifications/{id}", "/api/notifications/1", {"Read": SECRET}),
        lambda: client.send(caller, "POST /api/notifications/read", body={"Ids": [SECRET]}),
        lambda: client.send(caller, "POST /api/notifications/{id}/taken", f"/api/notifications/{SECRET}/taken", SECRET),
        lambda: client.send(caller, fetch, "/api/notifications/1", fields={"If-Match": SECRET}),
        lambda: client.send(caller, fetch, "/api/notifications/1", fields={"If-Modified-Since": SECRET, "Range": SECRET}),
        lambda: client.send(caller, fetch, f"/api/notifications/1?{SECRET}={SECRET}"),
        lambda: client.send(caller, fetch, f"/api/{SECRET}"),
        lambda: client.send(caller, fetch, f"/{SECRET}/%zz"),
        lambda: client.send(caller, fetch, f"/{SECRET * 2000}"),
        lambda: client.send(caller, fetch, fields={"MyToken": SECRET}),
        lambda: client.send(caller, fetch, fields={SECRET: "x" * 20_000}),
        lambda: client.send(caller, "PATCH /api/users/{id}", f"/api/users/{NAME}", {"Role": SECRET, "Password": SECRET * 40}),
        lambda: client.send(caller, "POST /api/users", body={"Name": f"{NAME} x", "Password": f"{SECRET}\n"}),
        lambda: client.send(caller, "POST /api/sessions", body={"Scopes": [SECRET], "ExpiresIn": -1}),
        lambda: client.send(caller, "GET /api/tokens", f"/api/tokens?after={SECRET}&user={SECRET}%20"),
        lambda: client.send(caller, "GET /api/devices", f"/api/devices?cursor={SECRET}&user={SECRET}%20"),
        lambda: client.send(caller, "DELETE /api/tokens/{id}", f"/api/tokens/{SECRET}"),
        lambda: client.send(None, fetch, "/api/notifications/1"),
        lambda: client.send(None, fetch, "/api/notifications/1", authorization=f"Bearer spt_{SECRET}{SECRET}"),
        lambda: client.send(None, fetch, "/api/notifications/1", authorization=f"Basic {SECRET}"),
        lambda: client.send(None, fetch, "/api/notifications/1", authorization=f"Negotiate {SECRET}"),
        lambda: client.send(None, fetch, "/api/notifications/1", authorization=basic(SECRET, SECRET) + "!"),
        lambda: client.raw(f"GET /{SECRET}\0 HTTP/1.1\r\nHost: x\r\n\r\n".encode()),
        lambda: client.raw(f"GET / HTTP/1.1\r\nHost: x\r\nX {SECRET}: {SECRET}\r\n\r\n".encode()),
        lambda: client.raw(f"GET / HTTP/9.9\r\nAuthorization: {SECRET}\r\n\r\n".encode()),
        lambda: client.raw(f"POST /api/register HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {SECRET}\r\n\r\n{SECRET}".encode()),
        lambda: client.raw(SECRET.encode() * 10),
    ]
    if random.random() < 0.1 and results.may_be_wrong():
        other = random.choice((random.choice(callers).name, "nobody"))
        client.send(None, fetch, "/api/notifications/1", authorization=basic(other, f"{SECRET} wrong {random.random()}"))
    else:
        random.choice(wrongs)()


# MARK: Where to look

def look_at_process(daemon, results):
    """What the system tells of the daemon: its arguments, its environment, and whether it dumps its memory."""
    folder = pathlib.Path(f"/proc/{daemon.pid}")
    for name in ("cmdline", "environ"):
        try:
            judge(f"/proc/PID/{name}", (folder / name).read_bytes(), results)
        except PermissionError:
            pass  # Not even we are shown it, which is better still.
    if not re.search(r"Max core file size +0 +0 ", (folder / "limits").read_text()):
        results.fail("the daemon may write core dumps")


def stored(site):
    """All files that the daemon has stored; sockets have nothing in them."""
    return sorted(file for file in (site.folder / "var").rglob("*") if file.is_file())


def look_at_files(site, results):
    for file in stored(site):
        bytes = file.read_bytes()
        judge(file.name, bytes, results, words=(SECRET,))
        for word in (HANDLE, NAME):
            if hits := find(bytes, word):
                results.fail(f"{file.name}: {len(hits)} {'handles' if word == HANDLE else 'names and tags'} in clear")


def look_at_log(site, results):
    log = site.log.read_bytes()
    judge("the log", log, results)
    # Who did what may be told.
    anonymous = re.sub(rb'\b(user|by)("?[=:]"?)[^\s",}]+', rb"\1\2", log)
    for hit in find(anonymous, NAME)[:3]:
        results.fail(f"a name in the log: {hit}")
    for line in log.splitlines():
        if line.startswith(b"{"):
            json.loads(line)
    if b"level=debug" not in log or b'"level":"debug"' not in log:
        results.fail("the log is not at its finest")


def look_for_codes(site, hook, results):
    """What confirms a handle is neither logged nor stored."""
    codes = {code for _, code in hook.codes()}
    for file in (site.log, *stored(site)):
        bytes = file.read_bytes()
        if any(code.encode() in bytes for code in codes):
            results.fail(f"{file.name}: a code that confirms a handle")
    if not codes:
        results.fail("no code was pushed")


def judge(what, bytes, results, words=(SECRET, HANDLE)):
    for word in words:
        for hit in find(bytes, word)[:3]:
            results.fail(f"{what}: {'a secret' if word == SECRET else 'a handle'} at {hit}")
    for form in TOKENS:
        for match in list(form.finditer(bytes))[:3]:
            results.fail(f"{what}: a token, {match[0][:12]} and so on")


def report(results, site):
    for route in ROUTES:
        # No stranger makes an administrator where there are users.
        if route != "POST /api/setup" and not any(200 <= status < 400 for status in results.statuses[route]):
            results.fail(f"{route} was never answered with success: {dict(results.statuses[route])}")
    for failure in sorted(results.failures):
        print(failure)
    total = sum(results.statuses.values(), collections.Counter())
    print(f"{results.count} requests to {len(ROUTES)} routes, answered {dict(sorted(total.items()))}; {len(results.tokens)} tokens, "
        f"{site.log.stat().st_size} bytes of log: {len(results.failures)} secrets out of place")
    if results.failures:
        raise SystemExit(1)
