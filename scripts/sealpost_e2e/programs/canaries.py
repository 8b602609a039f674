"""Searches all output of the server for secrets after calls of every route.

Users of each role call every route of `scripts/routes`, correctly and wrongly, with three words: SECRET in passwords, payloads,
collapse keys, credentials and fields; HANDLE in handles of devices; NAME in names and tags. SECRET and HANDLE must appear nowhere:
log at its finest level, as text and JSON, spans, errors, database files, the system's view of the process; in any case, base64,
hexadecimal, UTF-16 or percent encoding. NAME may appear in answers to its sender, and in the log of who did what.
"""

import base64
import collections
import contextlib
import datetime
import functools
import http.client
import json
import pathlib
import re
import secrets
import socket
import urllib.parse

from sealpost_e2e import api, collector, environment, outbox, processes, require, rig

ROUTES = (rig.ROOT / "scripts/routes").read_text().split("\n")[:-1]
LETTERS = "".join(secrets.choice("bcdfghjkmnpqrstvwxz") for _ in range(24))
SECRET, HANDLE, NAME = (LETTERS[start : start + 8] for start in (0, 8, 16))
FIELDS = {"User-Agent": f"agent/{SECRET}", "Cookie": f"session={SECRET}", "Referer": f"https://x/{SECRET}"}


def run(options):
    # It has `cryptography`. Programs that import this module enter another environment.
    environment.enter(".venv-test")
    check_search()
    traces = collector.Collector()
    with outbox.Outbox(
        options.sealpost, LOG_LEVEL="trace", EVENTS_KEEP=604800, TRACING_ENDPOINT=traces.endpoint, TRACING_REQUESTS=1,
    ) as site:
        # The server also logs providers' refusals.
        site.simulate("every 5: status 429 retry-after 1", channels=20)
        site.add_senders()
        hook = site.add_webhook()
        results = Results()
        callers = [Caller(site, results, number, ("device", "publisher", "admin")[number % 3]) for number in range(6)]
        for caller in callers:
            site.add_user(caller.name, caller.role, caller.password)
        for format in ("text", "json"):
            site.environment["SEALPOST_LOG_FORMAT"] = format
            daemon, _ = site.serve()
            for caller in callers:
                caller.close()
                tour(caller, hook)
            for caller in callers[:3]:
                make_mistakes(caller)
            look_at_process(daemon, results)
            look_at_files(site, results)
            processes.terminate(daemon)
        look_at_log(site, results)
        look_at_files(site, results)
        look_for_codes(site, hook, results)
        look_at_spans(traces, results)
        report(results, site)


def find(bytes, word):
    """The places of a word in any encoding, with the bytes around them."""
    return [bytes[max(0, match.start() - 60) : match.end() + 60] for form in forms(word) for match in form.finditer(bytes)]


@functools.cache
def forms(word):
    text = word.encode()
    spellings = [text, text.hex().encode(), b"".join(b"%%%02x" % byte for byte in text)]
    spellings += [b"".join(b"\\u%04x" % byte for byte in text), word.encode("utf-16-le"), word.encode("utf-16-be")]
    # base64 and base64url agree for letters, which begin at one of three offsets.
    return [re.compile(re.escape(spelling), re.I) for spelling in spellings] + [re.compile(re.escape(core)) for core in encodings(text)]


def encodings(text):
    """The certain part of a text in base64 at any offset: both ends depend on neighbouring characters."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + text)
        yield encoded[-(-offset * 8 // 6) : (offset + len(text)) * 8 // 6]


# More of a token than its prefix, which may be shown; in base64 and hexadecimal not even that may be.
TOKENS = [re.compile(rb"spt_[0-9A-Za-z]{13,}"), re.compile(rb"7370745f[0-9a-f]{30,}", re.I)]
TOKENS += [re.compile(re.escape(core) + rb"[0-9A-Za-z+/_-]{30,}") for core in encodings(b"spt_")]


def check_search():
    """Checks that the search can find something."""
    token, letters = b"spt_" + b"0aZ" * 14, SECRET.encode()
    for text in (token, token.hex().encode(), *(base64.b64encode(b"x" * length + token) for length in range(3))):
        if not any(form.search(text) for form in TOKENS) or any(form.search(token[:12]) for form in TOKENS):
            raise SystemExit(f"the search does not know a token in {text}")
    disguises = [SECRET.upper(), letters.hex().upper(), f'"x{SECRET}"', "".join(f"%{letter:02X}" for letter in letters)]
    disguises += [base64.b64encode(b"x" * length + letters + b"yz").decode() for length in range(7)]
    disguises += [base64.urlsafe_b64encode(b"\xff\xfe" * length + letters).decode() for length in range(4)]
    disguises += ["".join(f"\\u{letter:04X}" for letter in letters)]
    for text in [text.encode() for text in disguises] + [SECRET.encode("utf-16"), SECRET.encode("utf-16-be")]:
        require(find(text, SECRET) and not find(text, HANDLE), f"the search does not tell {text}")


class Results:
    """The answers of each route, and the failures."""

    def __init__(self):
        self.statuses = collections.defaultdict(collections.Counter)
        self.failures = set()

    def note(self, route, status, answer):
        self.statuses[route][status] += 1
        for word in (SECRET, HANDLE) if status >= 400 else ():
            if hits := find(answer, word):
                self.failures.add(f"{route} answers {status} with a secret: {hits[0][:300]}")


class Caller:
    def __init__(self, site, results, number, role):
        self.site, self.results, self.number, self.role = site, results, number, role
        self.name, self.password = f"{NAME}-{number}", f"{SECRET} password {number}"
        self.connection = None

    def send(self, route, *parts, body=None, query="", fields=(), authorization=None):
        """Requests a route with these path parts. Returns the status, and the JSON or an empty object."""
        method, path = fill(route, parts)
        headers = FIELDS | {"Authorization": authorization or api.basic(self.name, self.password)} | dict(fields)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        for _ in range(3):
            try:
                self.connection = self.connection or self.site.connect()
                self.connection.request(method, path + query, body, headers)
                response = self.connection.getresponse()
                text = b"" if "stream" in path and response.status == 200 else response.read()
                break
            except (http.client.HTTPException, OSError):
                # An early refusal may close the connection.
                self.close()
        else:
            return None, {}
        self.results.note(route, response.status, str(response.headers).encode() + text)
        if response.will_close or "stream" in path:
            self.close()
        is_json = text and "json" in response.getheader("Content-Type", "") and not response.getheader("Content-Encoding")
        return response.status, json.loads(text) if is_json else {}

    def raw(self, bytes):
        """Sends bytes that are hardly a request."""
        with socket.create_connection(("127.0.0.1", self.site.port), timeout=60) as connection:
            connection.sendall(bytes)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.makefile("rb").read()
        self.results.note("raw", int(answer[9:12] or 0), answer)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def fill(route, parts):
    """The method of a route, and its path with these parts."""
    method, path = route.split(" ")
    for part in parts:
        path = re.sub(r"\{\w+\}", lambda _: str(part), path, count=1)
    return method, path


def tour(caller, hook):
    """Calls all routes, allowed or not."""
    send, name = caller.send, caller.name
    for route in ("GET /api/register", "GET /api/tokens", "GET /api/users", "GET /api/audit", "GET /api/events", "GET /api/webpush/key",
        "GET /healthz", "GET /readyz", "GET /metrics", "GET /.well-known/sealpost-keys", "GET /openapi.json",
        "GET /api/sessions/current", "GET /api/status", "GET /", "GET /console", "GET /console/"):
        send(route)
    send("GET /console/{id}", "console.js")
    send("POST /api/lanes/retry", body={"Lane": "fcm"})
    send("POST /api/setup", body={"Code": SECRET, "Name": NAME, "Password": f"{SECRET} made"})
    _, code = send("POST /api/users/{id}/enrolment", name)
    send("POST /api/enrolment", body={"Code": code.get("Code", SECRET)})
    send("GET /api/users/{id}", name)
    send("PUT /api/users/current/password", body={"Current": f"{SECRET} wrong", "New": caller.password})
    send("PUT /api/users/current/password", body={"Current": caller.password, "New": caller.password})
    for rest in ({}, {"ExpiresIn": 600}):
        _, session = send("POST /api/sessions", body=rest or None)
        credentials = f"Bearer {session['Token']}"
        for route in ("GET /api/register", "DELETE /api/sessions/current", "GET /api/register"):
            send(route, authorization=credentials)
    tour_devices(caller, hook)
    tour_notifications(caller)
    _, token = send("POST /api/tokens", body={"User": name, "ExpiresIn": 600})
    send("GET /api/tokens", query=f"?user={name}")
    send("DELETE /api/tokens/{id}", token.get("Token", "spt_00000000")[:12])
    made = f"{NAME}-toured-{caller.number}"
    send("POST /api/users", body={"Name": made, "Password": f"{SECRET} made"})
    send("PATCH /api/users/{id}", made, body={"Role": "publisher", "Password": f"{SECRET} new"})
    send("PUT /api/users/{id}/tags", made, body={"Tags": [f"{NAME}-given"]})
    send("GET /api/users/{id}/tags", made)
    send("DELETE /api/users/{id}", made)


def tour_devices(caller, hook):
    """Devices of each platform; tests one, and confirms one."""
    send, number = caller.send, caller.number
    handles = {
        "apns": f"{HANDLE}{number}".encode().hex().ljust(64, "0"), "wns": caller.site.channels()[number], "fcm": f"{HANDLE}-fcm-{number}",
    }
    for platform, handle in handles.items():
        query = "" if platform == "wns" else f"?handle={handle}"
        _, device = send("POST /api/register", query=query, body=SECRET)
        send("PUT /api/register/{id}", device, body={"Platform": platform, "Handle": handle, "Tags": [f"{NAME}-tag-{number}"]})
    send("POST /api/devices/{id}/test", device)
    send("PUT /api/devices/{id}/topics/{topic}", device, NAME)
    _, session = send("GET /api/sessions/current")
    send("PUT /api/devices/{id}/key", device, body={"Key": api.device_key(session["Account"])})
    send("GET /api/keys", query=f"?to=username:{caller.name}")
    send("DELETE /api/devices/{id}/topics/{topic}", device, NAME)
    send("PUT /api/register/{id}", device, body={"Platform": "stream"})
    for fields in ({"Last-Event-ID": SECRET}, {}):
        send("GET /api/stream", fields=fields)
    # Its push waits for a stream.
    _, posted = send("POST /api/notifications", body={"Payload": SECRET})
    for method in ("POST", "DELETE"):
        send(f"{method} /api/notifications/{{id}}/deliveries/{{device}}", posted.get("Id", 0), device)
    handle = f"{HANDLE}-hook-{number}"
    send("PUT /api/register/{id}", device, body={"Platform": "hook", "Handle": handle})
    for code in (SECRET, hook.code(handle)):
        send("POST /api/register/{id}/confirmation", device, body=json.dumps(code))
    send("GET /api/devices", query=f"?user={caller.name}")
    send("GET /api/why/{id}", caller.name)
    send("GET /api/deliveries", query=f"?state=failed&since=1h&user={caller.name}")
    send("GET /api/why/{id}", caller.name)
    send("DELETE /api/devices/{id}", device)
    send("DELETE /api/register/{id}", device)


def tour_notifications(caller):
    """Payloads of each form, their recipient's actions, and lists."""
    send, name = caller.send, caller.name
    tagged = [f"{NAME}-tag-{caller.number} && !{NAME}-none"]
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)).isoformat()
    text = f"{SECRET} payload"
    send("POST /api/notifications", query=f"?to_tag={name}", body=json.dumps(text))
    for payload, rest in (
        ([text], {"CollapseKey": f"{SECRET}-key"}), ({text: None}, {"Store": "never", "ExpiresIn": 60}), (text * 400, {"Priority": "normal"}),
        (text, {"To": tagged}), (text, {"To": [f"{NAME}-later"], "SendAt": soon}), (text, {"To": [f"username:{NAME}-0"]}),
    ):
        send("POST /api/notifications", body={"Payload": payload} | rest)
    send("POST /api/notifications/batch", body={"Notifications": [{"Payload": SECRET}, {"Payload": SECRET, "To": [NAME]}]})
    _, posted = send("POST /api/notifications", body={"Payload": SECRET})
    id = posted["Id"]
    for query in ("?limit=5", "?limit=500", "?unread=true", f"?since={SECRET}", "?ids=1,2", f"?ids={SECRET}"):
        send("GET /api/notifications", query=query, fields={"Accept-Encoding": "gzip"})
    send("GET /api/notifications/{id}", id)
    send("PATCH /api/notifications/{id}", id, body={"Read": True})
    send("POST /api/notifications/read", body={"Ids": [id]})
    send("GET /api/notifications/{id}/deliveries", id)
    send("GET /api/notifications/{id}/recipients", id)
    for method in ("POST", "DELETE"):
        send(f"{method} /api/notifications/{{id}}/deliveries/{{device}}", id, "no-device")
    send("DELETE /api/notifications/{id}", id)
    _, posted = send("POST /api/notifications", body={"Payload": SECRET, "ReadOnce": True})
    send("GET /api/notifications/{id}", posted["Id"])
    send("POST /api/notifications/{id}/taken", posted["Id"])


def make_mistakes(caller):
    send, post, put, fetch = caller.send, "POST /api/notifications", "PUT /api/register/{id}", "GET /api/notifications/{id}"
    quoted = urllib.parse.quote(f"{SECRET} ä\n")
    for body in (
        f'{{"Payload":"{SECRET}', f'{{"Payload":{SECRET}}}', f'{{"{SECRET}":}}', f"[{SECRET}".encode("utf-16"), b"\xff\xfe" + SECRET.encode(),
        [SECRET], SECRET * 20_000, {"Payload": SECRET * 9000},
        *({"Payload": SECRET} | rest for rest in (
            {"To": 7}, {"To": [f"(({NAME}"]}, {"To": ["username:nobody"]}, {"ExpiresIn": SECRET}, {"Priority": SECRET, SECRET: SECRET},
            {"CollapseKey": SECRET * 100}, {"Alert": {"BodyKey": SECRET}}, {"Alert": SECRET}, {"Alert": {SECRET: SECRET}},
        )),
    ):
        send(post, body=body)
    send(post, query=f"?to_tag={quoted}", body=json.dumps(SECRET))
    send(post, fields={"Expect": SECRET})
    send(post, body={"Payload": 1}, fields={"Idempotency-Key": SECRET, "X-Request-Id": f"{SECRET}."})
    for device in (
        {"Platform": "mpns", "Handle": HANDLE}, {"Platform": "fcm", "Handle": f"{HANDLE} {HANDLE}"},
        {"Platform": "wns", "Handle": f"https://{HANDLE}.example/{HANDLE}"},
        {"Platform": "webpush", "Handle": json.dumps({"endpoint": HANDLE})}, {"Platform": "fcm", "Handle": [HANDLE], "Tags": SECRET},
    ):
        send(put, "x1", body=device)
    send(put, quoted, body={"Platform": "fcm", "Handle": HANDLE})
    send("POST /api/register", query=f"?handle={HANDLE}%20x")
    send(fetch, SECRET, fields={"If-None-Match": f'"{SECRET}"'})
    send("PATCH /api/notifications/{id}", 1, body={"Read": SECRET})
    send("POST /api/notifications/read", body={"Ids": [SECRET]})
    send("POST /api/notifications/{id}/taken", SECRET, body=SECRET)
    for fields in ({"If-Match": SECRET}, {"If-Modified-Since": SECRET, "Range": SECRET}, {"MyToken": SECRET}, {SECRET: "x" * 20_000}):
        send(fetch, 1, fields=fields)
    send(fetch, 1, query=f"?{SECRET}={SECRET}")
    for path in (f"/api/{SECRET}", f"/{SECRET}/%zz", f"/{SECRET * 2000}"):
        send(f"GET {path}")
    send("PATCH /api/users/{id}", NAME, body={"Role": SECRET, "Password": SECRET * 40})
    send("POST /api/users", body={"Name": f"{NAME} x", "Password": f"{SECRET}\n"})
    send("POST /api/sessions", body={"Scopes": [SECRET], "ExpiresIn": -1})
    send("GET /api/tokens", query=f"?after={SECRET}&user={SECRET}%20")
    send("GET /api/devices", query=f"?cursor={SECRET}&user={SECRET}%20")
    send("DELETE /api/tokens/{id}", SECRET)
    for bytes in (
        f"GET /{SECRET}\0 HTTP/1.1\r\nHost: x\r\n\r\n", f"GET / HTTP/1.1\r\nHost: x\r\nX {SECRET}: {SECRET}\r\n\r\n",
        f"GET / HTTP/9.9\r\nAuthorization: {SECRET}\r\n\r\n", SECRET * 10,
        f"POST /api/register HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {SECRET}\r\n\r\n{SECRET}",
    ):
        caller.raw(bytes.encode())
    # Comes last, as the server throttles repeated mistakes.
    for authorization in (
        f"Bearer {SECRET}", f"Bearer spt_{SECRET}{SECRET}", f"Basic {SECRET}", f"Negotiate {SECRET}", api.basic(SECRET, SECRET) + "!",
        *(api.basic(name, f"{SECRET} wrong {number}") for name in (caller.name, "nobody") for number in range(10)),
    ):
        send(fetch, 1, authorization=authorization)


def look_at_process(daemon, results):
    """The system's view of the daemon: arguments, environment, and memory dumps."""
    folder = pathlib.Path(f"/proc/{daemon.pid}")
    for name in ("cmdline", "environ"):
        with contextlib.suppress(PermissionError):  # The kernel denies even this program the view.
            judge(f"/proc/PID/{name}", (folder / name).read_bytes(), results)
    if not re.search(r"Max core file size +0 +0 ", (folder / "limits").read_text()):
        results.failures.add("the daemon may write core dumps")


def stored(site):
    """All files that the daemon has stored; sockets have no content."""
    return sorted(file for file in (site.folder / "var").rglob("*") if file.is_file())


def look_at_files(site, results):
    for file in stored(site):
        bytes = file.read_bytes()
        judge(file.name, bytes, results, words=(SECRET,))
        for word in (HANDLE, NAME):
            if hits := find(bytes, word):
                results.failures.add(f"{file.name}: {len(hits)} {'handles' if word == HANDLE else 'names and tags'} in clear")


def look_at_log(site, results):
    log = site.log.read_bytes()
    judge("the log", log, results)
    # The log may tell who did what.
    anonymous = re.sub(rb'\b(user|by)("?[=:]"?)[^\s",}]+', rb"\1\2", log)
    for hit in find(anonymous, NAME)[:3]:
        results.failures.add(f"a name in the log: {hit}")
    for line in log.splitlines():
        if line.startswith(b"{"):
            json.loads(line)
    if b"level=debug" not in log or b'"level":"debug"' not in log:
        results.failures.add("the log is not at its finest")


def look_for_codes(site, hook, results):
    """The server neither logs nor stores the code that confirms a handle."""
    codes = {code for _, code in hook.codes()}
    for file in (site.log, *stored(site)):
        bytes = file.read_bytes()
        if any(code.encode() in bytes for code in codes):
            results.failures.add(f"{file.name}: a code that confirms a handle")
    if not codes:
        results.failures.add("no code was pushed")


def look_at_spans(traces, results):
    """Spans have neither secrets nor handles nor names, and there are some of each kind."""
    bytes = traces.bytes()
    judge("the spans", bytes, results)
    for hit in find(bytes, NAME)[:3]:
        results.failures.add(f"a name in the spans: {hit}")
    names = {span["name"] for span in traces.spans()}
    for name in {"POST /api/notifications", "GET /api/notifications/{id}", "commit", "push fcm"} - names:
        results.failures.add(f"no span {name}")


def judge(what, bytes, results, words=(SECRET, HANDLE)):
    for word in words:
        for hit in find(bytes, word)[:3]:
            results.failures.add(f"{what}: {'a secret' if word == SECRET else 'a handle'} at {hit}")
    for form in TOKENS:
        for match in list(form.finditer(bytes))[:3]:
            results.failures.add(f"{what}: a token, {match[0][:12]} and so on")


# Setup ends with the first user. `SinglePushTests` retries a queued push; here a fast server has sent it.
WITHOUT_SUCCESS = {"POST /api/setup", "POST /api/notifications/{id}/deliveries/{device}", "DELETE /api/notifications/{id}/deliveries/{device}"}


def report(results, site):
    for route in ROUTES:
        if route not in WITHOUT_SUCCESS and not any(200 <= status < 400 for status in results.statuses[route]):
            results.failures.add(f"{route} was never answered with success: {dict(results.statuses[route])}")
    print(*sorted(results.failures), sep="\n")
    total = sum(results.statuses.values(), collections.Counter())
    print(f"{total.total()} requests to {len(ROUTES)} routes, answered {dict(sorted(total.items()))}; {site.log.stat().st_size} bytes of "
        f"log: {len(results.failures)} secrets out of place")
    require(not results.failures)
