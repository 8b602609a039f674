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
