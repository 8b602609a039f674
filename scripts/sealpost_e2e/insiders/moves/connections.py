"""Connections: many, slow, full, and what is sent on them."""

import contextlib
import selectors
import time

from sealpost_e2e.insiders.insider import move

SECONDS = 5


@move("Slow uploads", "500 bodies of 60 KB, a byte a second", "")
def slow_uploads(insider):
    head = insider.head("POST /api/notifications", Content_Length=60_000)
    connections = insider.each(lambda _: insider.open(head), range(500))
    for _ in range(SECONDS):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(b" ")
        time.sleep(1)
    for connection in connections:
        connection.close()


@move("Slow headers", "500 requests, a field a second", "")
def slow_headers(insider):
    connections = insider.each(lambda _: insider.open(b"GET /api/notifications HTTP/1.1\r\nHost: h\r\n"), range(500))
    for number in range(SECONDS):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(f"X-{number}: 1\r\n".encode())
        time.sleep(1)
    for connection in connections:
        connection.close()


@move(
    "Floods of header fields", "200 fields, one of 20 KB, a path of 9 KB, on eight connections",
    "414 target-too-long, 431 header-too-large",
)
def header_floods(insider):
    texts = [
        insider.head("GET /api/register", **{f"X_{number}": "y" for number in range(200)}),
        insider.head("GET /api/register", X="y" * 20_000), insider.head("GET /" + "p" * 9000),
    ]

    def flood(number):
        with contextlib.suppress(OSError), insider.open(texts[number % 3]) as connection:
            insider.receive(connection)

    insider.keep_on(flood, seconds=4)


@move(
    "Floods of pipelined requests", "64 connections that never wait for an answer, signed and with an account", "200, 429 rate-limited?"
)
def pipelining(insider):
    signed = insider.head("GET /healthz", MyToken="1000", Accept_Signature='sig=("@status" "content-digest" "mytoken";req)')
    texts = [signed * 100, insider.head("GET /api/register") * 100]
    for text in texts:
        with insider.open(text[: len(text) // 100]) as connection:
            insider.receive(connection)
    selector, end = selectors.DefaultSelector(), time.monotonic() + SECONDS
    for number in range(64):
        connection = insider.open()
        connection.setblocking(False)
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        selector.register(connection, both, {"text": texts[number % 2], "rest": b""})
    while time.monotonic() < end and selector.get_map():
        for key, _ in selector.select(0.1):
            state = key.data
            try:
                with contextlib.suppress(BlockingIOError):
                    if not key.fileobj.recv(262_144):
                        raise ConnectionResetError
                with contextlib.suppress(BlockingIOError):
                    state["rest"] = state["rest"] or state["text"]
                    state["rest"] = state["rest"][key.fileobj.send(state["rest"]):]
            except OSError:
                selector.unregister(key.fileobj)
                key.fileobj.close()
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    with insider.open(insider.head("GET /api/register")) as connection:
        insider.receive(connection)


@move("Idle connections", "18,000 from four addresses, opened as fast as it can, and said nothing on", "")
def idle_connections(insider):
    connections = []
    for number in range(18_000):
        try:
            connections.append(insider.open(source=f"127.3.0.{number % 4 + 1}"))
        except OSError:
            pass  # Refused, which is what the limit is for.
    time.sleep(3)
    for connection in connections:
        connection.close()


@move("New connections without a pause", "each with a sign-in that is remembered, and ended at once", "")
def connection_churn(insider):
    text = insider.head("GET /api/register")

    def churn(_):
        with contextlib.suppress(OSError):
            insider.open(text).close()

    insider.keep_on(churn, threads=8, seconds=SECONDS)


# MARK: Fields


@move("`MyToken` that is none", "signs, letters, too large, twice, many", "200, 400 invalid-mytoken")
def bad_tokens(insider):
    for value in ("-1", "+1", "126322568", "99999999999999999999999", "0x10", "1e3", "ten", "1 2", "1,2", "٣", "", "1.0"):
        answer = insider.ask("GET", "/healthz", fields={"MyToken": value.encode()}, authorization="")
        if answer.status == 400 and "MyToken" in answer.fields:
            insider.harm("a bad MyToken was echoed")
    for text in (b"MyToken: 1\r\nMyToken: 1\r\n", b"MyToken: 1\r\nmytoken: 2\r\n"):
        with insider.open(b"GET /healthz HTTP/1.1\r\nHost: h\r\n" + text + b"\r\n") as connection:
            insider.receive(connection)
    if insider.ask("GET", "/healthz", fields={"MyToken": "126322567"}).fields.get("MyToken") != str(126322567 * 17 + 3):
        insider.harm("the largest MyToken was not echoed")


@move(
    "Signed answers for other requests", "collects signed answers under one `MyToken`, to pass one off as another's",
    "200, 400 unsupported-signature, 404 not-found",
    before="seen: a registration and `HEAD /healthz` had one signature",
)
def replayed_signatures(insider):
    covered = 'sig=("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req)'
    fields = {"MyToken": "1000", "Accept-Signature": covered}
    answers = {}
    for method, path in (
        ("HEAD", "/healthz"), ("HEAD", "/readyz"), ("HEAD", "/healthz?x"), ("GET", "/api/notifications/1"),
        ("GET", "/api/notifications/2"),
    ):
        answer = insider.ask(method, path, fields=fields)
        signed = answer.fields.get("Signature-Input", "")
        if '"@path";req' not in signed or '"@method";req' not in signed:
            insider.harm("a signature does not cover method and path")
        answers[method, path] = answer.fields.get("Signature", "")
    if len(set(answers.values())) != len(answers):
        insider.harm("one signature fits two requests")
    for other in ('sig=("@status")', "sig=(", 'sig=("@status" "content-digest" "mytoken";req);alg="none"'):
        insider.ask("GET", "/healthz", fields={"MyToken": "1000", "Accept-Signature": other})


@move(
    "Signed answers for another account", "sends a phone's requests with the own credentials, and names the other account in fields and query",
    "200, 401 unauthorized, 403 forbidden?, 404 not-found",
)
def answers_for_others(insider):
    covered = 'sig=("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "sealpost-account")'
    fields = {"MyToken": "1000", "Accept-Signature": covered}
    own = insider.ask("GET", "/api/sessions/current", fields=fields).fields.get("Sealpost-Account", "")
    if len(own) != 22:
        insider.harm("an answer does not name its account")
    other = "A" * 22
    for path in ("/api/notifications/1", "/api/notifications?limit=500", f"/api/register?Sealpost-Account={other}", "/api/users"):
        for more in ({}, {"Sealpost-Account": other}, {"X-Sealpost-Account": other, "Account": other}):
            answer = insider.ask("GET", path, fields=fields | more)
            if answer.fields.get("Sealpost-Account") != own or '"sealpost-account"' not in answer.fields.get("Signature-Input", ""):
                insider.harm("an answer is signed for another account")
    if insider.ask("GET", "/api/register", fields=fields, authorization="").fields.get("Sealpost-Account") != "none":
        insider.harm("an answer to nobody names an account")


@move(
    "Paths and fields that two could read in two ways", "dot segments, encoded slashes, two lengths, lengths with chunks, request "
    "ids with line ends", "200?, 400 malformed-request, 404 not-found?, 400?",
)
def ambiguous_requests(insider):
    paths = ("/api/notifications/../users", "/api/notifications/%2e%2e/users", "/api/notifications/..%2fusers", "/api//users",
        "/api/users%00", "/api/%252e%252e/users", "//evil.example/api/users")
    texts = [insider.head(f"GET {path}") for path in paths]
    texts += [insider.head("POST /api/notifications", Content_Length=5, Transfer_Encoding="chunked") + b"0\r\n\r\n",
        insider.head("POST /api/notifications", Content_Length="5, 5") + b"hello", insider.head("GET /healthz").replace(b"\r\n", b"\n"),
        insider.head("GET /healthz", X_Request_Id="a\r b"), b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"]
    for text in texts:
        with insider.open(text) as connection:
            insider.receive(connection)
