"""Checks the daemon's answers with httplint: every route, with success and each of its error statuses.

The table "What httplint remarks" of docs/http.md has the intended warnings. Any other warning, and an unused row, fail.
"""

import collections
import contextlib
import email.utils
import json
import re
import socket
import time

from sealpost_e2e import environment, require

environment.enter()

from httplint import HttpRequestLinter, HttpResponseLinter, levels

from sealpost_e2e import api, outbox, processes, rig
from sealpost_e2e.programs import canaries

SIGNED = {"Accept_Signature": 'sig=("@status" "content-digest" "mytoken";req)'}
MISSING = "spt_" + "0" * 42
# Limits of the daemon that this program can reach.
LIMITS = {"SERVER_LIMITS_HEADERTIMEOUT": 1, "SERVER_LIMITS_MAXCONNECTIONSPERADDRESS": 60, "STREAM_HEARTBEAT": 1}
ORIGIN = "https://app.example"
QUOTA = {"QUOTAS_PUBLISHER_REQUESTS": 3, "QUOTAS_PUBLISHER_WINDOW": 3600}


class Site(outbox.Outbox):
    def __init__(self, sealpost):
        super().__init__(sealpost, **LIMITS, **QUOTA, SERVER_ALLOWEDORIGINS=ORIGIN, EVENTS_KEEP=604800)
        self.statuses = collections.Counter()
        self.routes = collections.defaultdict(set)
        self.remarks = collections.defaultdict(set)

    def ask(self, status, target, method="GET", user="root", body=None, route=None, **fields):
        """Sends one request on a new connection and checks its status. Returns the body, after judging the answer."""
        lines = [f"{method} {target} HTTP/1.1", "Host: sealpost.test", "MyToken: 4711", "X-Request-Id: lint"]
        if user:
            lines.append(f"Authorization: {user if ' ' in user else api.basic(user)}")
        if body is not None:
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()] + ["Connection: close", "", ""]
        answer = self.exchange("\r\n".join(lines).encode("latin-1") + (body or b""), until=b"\n\n" if "stream" in target else None)
        return self.judge(status, answer, method, target, lines, route)

    def raw(self, status, bytes):
        """Sends bytes that are hardly a request."""
        return self.judge(status, self.exchange(bytes), None, bytes[:20].decode("latin-1"), [], None)

    def exchange(self, bytes, until=None):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            with contextlib.suppress(OSError):  # The server refused before the end of the request.
                connection.sendall(bytes)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while not (until and until in answer) and (more := connection.recv(65536)):
                    answer += more
            return answer

    def exchange_until(self, status, bytes, crowd=0):
        """Holds some silent connections, and repeats a request until its answer has that status."""
        answer = b""

        def is_answered():
            nonlocal answer
            with contextlib.ExitStack() as silent:
                for _ in range(crowd):
                    silent.enter_context(socket.create_connection(("127.0.0.1", self.port)))
                answer = self.exchange(bytes)
            return answer.startswith(b"HTTP/1.1 %d " % status)

        processes.wait_until(is_answered, 60, f"the status {status}", pause=0)
        return answer

    def judge(self, status, answer, method, target, request, route):
        head, _, body = answer.partition(b"\r\n\r\n")
        top, *lines = head.split(b"\r\n")
        version, code, *phrase = top.split(b" ", 2)
        require(not status or int(code) == status, f"{method} {target}: {status} was expected, {head.decode('latin-1')} {body[:300]} came")
        fields = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        complete = True
        if any(name.lower() == b"transfer-encoding" for name, _ in fields):
            body, complete = unchunked(body), "stream" not in target
        asked = None
        if request:
            asked = HttpRequestLinter()
            asked.process_request_topline(method.encode(), b"http://sealpost.test" + target.encode(), b"1.1")
            asked.process_headers([tuple(part.strip() for part in line.encode("latin-1").split(b":", 1)) for line in request[1:-2]])
            asked.finish_content(True)
        linter = HttpResponseLinter(start_time=time.time(), _related=asked, no_content=method == "HEAD")
        linter.process_response_topline(version.split(b"/")[1], code, phrase[0] if phrase else b"")
        linter.process_headers(fields)
        linter.feed_content(body)
        linter.finish_content(complete)
        for note in linter.notes:
            for one in [note, *note.subnotes]:
                if one.level in (levels.WARN, levels.BAD):
                    self.remarks[type(one).__name__].add((f"{method} {re.sub('[0-9]{4,}', 'N', target)[:60]} {int(code)}", one.subject, str(one.summary)))
        self.statuses[int(code)] += 1
        if route:
            self.routes[route].add(int(code))
        return json.loads(body) if body[:1] in (b"{", b'"', b"[") and method != "HEAD" else body


def unchunked(body):
    size, _, rest = body.partition(b"\r\n")
    length = int(size or b"0", 16)
    return rest[:length] + unchunked(rest[length + 2 :]) if body else b""


class Tourist(canaries.Caller):
    """The administrator, who calls every route."""

    def __init__(self, site):
        super().__init__(site, None, 0, "admin")
        self.name, self.password = "root", api.PASSWORD

    def send(self, route, *parts, body=None, query="", fields=(), authorization=None):
        method, path = canaries.fill(route, parts)
        body = body.encode() if isinstance(body, str) else body
        # Browsers send no credentials for the console's files.
        user = authorization or (None if path == "/" or path.startswith("/console") else "root")
        return None, self.site.ask(None, path + query, method, user, body, route, **dict(fields)) or {}


def tour(site, hook):
    """Every route, and then what only conditions, signatures and other origins bring about."""
    canaries.tour(Tourist(site), hook)

    def call(status, route, target=None, **rest):
        method, pattern = route.split(" ")
        return site.ask(status, target or pattern, method, route=route, **rest)

    for route in ("GET /healthz", "GET /readyz", "GET /openapi.json", "GET /.well-known/sealpost-keys"):
        call(200, route, user=None, **SIGNED)
        site.ask(200, route.split(" ")[1], "HEAD", user=None)
    for route in ("GET /metrics", "GET /api/users", "GET /api/tokens", "GET /api/audit", "GET /api/devices", "GET /api/register",
        "GET /api/events", "GET /api/deliveries", "GET /api/keys", "GET /api/webpush/key", "GET /api/status", "GET /api/sessions/current"):
        call(200, route, Prefer="handling=strict")
        site.ask(400, route.split(" ")[1] + "?unheard-of=1", Prefer="handling=strict")
        site.ask(200, route.split(" ")[1], "HEAD")
    device = call(200, "POST /api/register")
    call(200, "PUT /api/register/{id}", f"/api/register/{device}", body={"Platform": "stream"})
    call(410, "PUT /api/register/{id}", f"/api/register/{device}", user="dora", body={"Platform": "stream"})
    call(200, "POST /api/notifications")
    for order in ({}, {"Store": "never"}, {"ReadOnce": True}, {"Payload": "x" * 3000}, {"SendAt": "2026-01-01T00:00:00Z"}):
        id = call(201, "POST /api/notifications", body={"Payload": {"a": 1}} | order)["Id"]
        item = f"/api/notifications/{id}"
        site.ask(200, item, "HEAD")
        call(200, "GET /api/notifications/{id}", item)
        if order.get("ReadOnce"):
            call(200, "GET /api/notifications/{id}", item, **SIGNED)
            for _ in range(2):
                call(204, "POST /api/notifications/{id}/taken", f"{item}/taken")
        else:
            call(409, "POST /api/notifications/{id}/taken", f"{item}/taken")
            call(200, "GET /api/notifications/{id}", item, **SIGNED)
            call(304, "GET /api/notifications/{id}", item, If_None_Match="*")
            call(304, "GET /api/notifications/{id}", item, If_None_Match="*", **SIGNED)
            call(412, "GET /api/notifications/{id}", item, If_Match='"other"')
            call(200, "PATCH /api/notifications/{id}", item, body={"Read": True})
            call(412, "PATCH /api/notifications/{id}", item, body={"Read": True}, If_None_Match="*")
            call(200, "POST /api/notifications/read", body={"Ids": [id]})
            for query in ("", "?unread=true", f"?ids={id}"):
                call(200, "GET /api/notifications", f"/api/notifications{query}")
                call(200, "GET /api/notifications", f"/api/notifications{query}", Accept_Encoding="gzip, br;q=0.5")
                call(304, "GET /api/notifications", f"/api/notifications{query}", If_None_Match="*")
            cursor = call(200, "GET /api/notifications", **SIGNED)["Cursor"]
            call(200, "GET /api/notifications", f"/api/notifications?since={cursor}")
            call(304, "GET /api/notifications", f"/api/notifications?since={cursor}", If_None_Match=f'"{cursor}"')
            site.ask(200, "/api/notifications", "HEAD", Accept_Encoding="gzip")
            # Two seconds make the server send `Last-Modified`, which it omits in the second of a change.
            time.sleep(2)
            call(304, "GET /api/notifications/{id}", item, If_Modified_Since=email.utils.formatdate(time.time() + 9, usegmt=True))
        call(404 if order.get("ReadOnce") else 204, "DELETE /api/notifications/{id}", item)
        call(404, "GET /api/notifications/{id}", item)
    call(304, "GET /openapi.json", user=None, If_None_Match="*")
    site.ask(204, "/api/notifications", "OPTIONS", user=None, Origin=ORIGIN, Access_Control_Request_Method="POST")
    call(200, "GET /api/notifications", Origin=ORIGIN, Sec_Fetch_Site="cross-site")
    call(304, "GET /api/notifications", Origin=ORIGIN, If_None_Match="*")
    for status, text in ((200, "once"), (200, "once"), (422, "twice")):
        call(status, "POST /api/notifications", body=text, Idempotency_Key='"one"')
    token = call(201, "POST /api/sessions")["Token"]
    call(403, "POST /api/sessions", user=f"Bearer {token}")
    call(409, "POST /api/users", body={"Name": "dora", "Password": api.PASSWORD})
    call(409, "DELETE /api/users/{id}", "/api/users/root")


def refusals(site):
    """Each status of an error."""
    item = "/api/notifications/1"
    for status, bytes in (
        (400, b"GET / HTTP/1.1\r\n\r\n"), (400, b"GET /healthz HTTP/1.1\r\nHost: x\r\nMyToken: x\r\nConnection: close\r\n\r\n"),
        (408, b"GET / HTTP/1.1\r\nHost: x\r\n"), (414, b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
        (417, b"POST /api/register HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n"),
        (431, b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000 + b"\r\n\r\n"), (501, b"QUERY / HTTP/1.1\r\nHost: x\r\n\r\n"),
        (505, b"GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
    ):
        site.raw(status, bytes)
    site.ask(400, "/api/users?limit=0")
    site.ask(400, "/api/users?limit=0", **SIGNED)
    site.ask(400, "/api/notifications?since=x")
    site.ask(400, "/healthz", Accept_Signature="sig=()")
    site.ask(400, "/api/notifications", "POST", body="text", Idempotency_Key="a b")
    site.ask(400, "/api/notifications", "POST", body=b"{")
    for user in (None, "nobody", f"Bearer {MISSING}"):
        site.ask(401, item, user=user)
    site.ask(403, "/api/users", user="dora")
    token = site.ask(201, "/api/tokens", "POST", body={"User": "dora", "Scopes": ["fetch"]})["Token"]
    site.ask(403, "/api/register", user=f"Bearer {token}")
    site.ask(403, "/api/register", "POST", Origin="https://evil.example", Sec_Fetch_Site="cross-site")
    site.ask(403, "/api/register", Sec_Fetch_Site="same-site", **SIGNED)
    for fields in ({}, {"Origin": ORIGIN}, SIGNED):
        site.ask(404, item, **fields)
    site.ask(404, "/nothing", user=None)
    site.ask(405, "/healthz", "POST", user=None)
    site.ask(405, item, "PUT")
    site.ask(413, "/api/notifications", "POST", body=b"9" * 300_000)
    site.ask(413, "/api/notifications", "POST", body="x" * 70_000)
    for _ in range(3):
        site.ask(200, "/api/register", user="paul")
    site.ask(429, "/api/register", user="paul")
    # Waits until the server has accepted the crowd and ended none yet; it refuses the next connection.
    site.judge(503, site.exchange_until(503, b"", crowd=60), None, "", [], None)
    wrong = f"GET {item} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {api.basic('dora', 'wrong')}\r\n\r\n"
    site.judge(429, site.exchange_until(429, wrong.encode()), "GET", item, [], None)


def explained():
    """The notes in the table of docs/http.md."""
    text = (rig.ROOT / "docs/http.md").read_text()
    section = text.partition("## What httplint remarks")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([A-Z0-9_]+)` \|", section, re.M))


def run(options):
    with Site(options.sealpost) as site:
        for name, role in (("root", "admin"), ("paul", "publisher"), ("dora", "device")):
            site.add_user(name, role)
        site.simulate()
        site.add_senders()
        hook = site.add_webhook()
        daemon, _ = site.serve()
        tour(site, hook)
        id = site.ask(201, "/api/notifications", "POST", body={"Payload": 1})["Id"]
        refusals(site)
        processes.terminate(daemon)
        with site.database() as database:
            database.execute("update notification set payload = zeroblob(60) where id = ?", [id])
        site.serve()
        site.ask(500, f"/api/notifications/{id}")
    succeeded = {route for route, statuses in site.routes.items() if min(statuses) < 400}
    missing = set(canaries.ROUTES) - succeeded - canaries.WITHOUT_SUCCESS
    known, met = explained(), set(site.remarks)
    for name in sorted(met - known):
        for place, subject, summary in sorted(site.remarks[name]):
            print(f"{name} {subject} at {place}: {summary}")
    print(f"httplint: {sum(site.statuses.values())} answers of {len(site.routes)} routes, of each status: {dict(sorted(site.statuses.items()))}; "
        f"{len(met & known)} notes explained, {len(met - known)} not")
    if missing or met - known or known - met:
        raise SystemExit(f"routes without success: {sorted(missing)}; explained and not met: {sorted(known - met)}" if missing or known - met else 1)
