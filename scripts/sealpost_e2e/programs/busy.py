"""Measures how long well-behaved clients wait while other clients keep the server busy.

64 connections pipeline signed requests without an account, four accounts pipeline compressed lists, one address opens all
connections that it can and, with TLS, one peer only updates its keys. Meanwhile h2load fetches a payload at a fixed rate, and a
client connects for each request. Once in clear and once with TLS, the limits below hold, and both get only 200. After SIGTERM
the daemon refuses new connections within `REFUSED` seconds, and ends within its grace period, with code 0.
"""

import contextlib
import multiprocessing
import os
import selectors
import signal
import socket
import ssl
import time

from sealpost_e2e import api, processes, require, rig
from sealpost_e2e.figures import percentile, steady_requests

PIPELINING, LISTS, NOTICES = 64, 4, 200
P99, LONGEST = 0.010, 0.100
REFUSED, GRACE = 0.050, 21
GREEDY = 6000
SIGNED = (
    "GET /healthz HTTP/1.1\r\nHost: h\r\nMyToken: 1000\r\n"
    'Accept-Signature: sig=("@status" "content-digest" "mytoken";req)\r\n\r\n'
)
LIST = "GET /api/notifications?limit=200 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nAuthorization: {}\r\n\r\n"
OPTIONS = {"--seconds": (20, "for each measurement")}


class Site(rig.Rig):
    """A daemon with its own listener, and accounts with lists."""

    def __init__(self, sealpost, has_tls):
        super().__init__(sealpost, role="publisher")
        self.listen_itself(has_tls)
        for number in range(LISTS):
            self.add_user(f"reader{number}", "publisher")

    def serve(self):
        process = self.start([self.sealpost, "serve"], cwd=self.folder, env=self.environment)
        processes.wait_for_line(process, "serving")
        return process

    def open(self, source="127.0.0.1"):
        """A socket with its own address."""
        connection = socket.create_connection(("127.0.0.1", self.port), 10, (source, 0))
        return self.context.wrap_socket(connection) if self.context else connection


def post_notices(site):
    """Posts a payload to alice, whose id it returns, and a page of notices to each reader."""
    connection = site.connect()
    id = api.post(connection, "small")
    for number in range(LISTS):
        for notice in range(NOTICES):
            payload = {"Title": f"Result {notice}", "Body": os.urandom(1500).hex()}
            api.post(connection, {"Payload": payload}, credentials=api.basic(f"reader{number}"))
    return id


# The programs that keep the server busy, each in its own process


def pipeline(site, source, requests):
    """Sends each text repeatedly on its own connection, and discards the answers."""
    os.nice(19)
    selector = selectors.DefaultSelector()

    def begin(text):
        with contextlib.suppress(OSError):
            connection = site.open(source)
            connection.setblocking(False)
            events = selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(connection, events, {"text": text, "rest": b"", "answered": False})

    def act(key):
        connection, state = key.fileobj, key.data
        with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            answer = connection.recv(262_144)
            if not answer:
                raise ConnectionResetError
            require(state["answered"] or answer.startswith(b"HTTP/1.1 200 "), f"what is pipelined was answered {answer[:100]}")
            state["answered"] = True
        with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            state["rest"] = state["rest"] or state["text"]
            state["rest"] = state["rest"][connection.send(state["rest"]):]

    for text in requests:
        begin(text)
    while True:
        if not selector.get_map():
            return
        for key, _ in selector.select():
            try:
                act(key)
            except OSError:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                begin(key.data["text"])


def open_all_connections(site, source):
    """Opens as many connections as it can, sends nothing, and reopens those that are closed."""
    os.nice(19)
    selector = selectors.DefaultSelector()
    while True:
        for _ in range(min(200, GREEDY - len(selector.get_map()))):
            connection = socket.socket()
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.bind((source, 0))
                connection.connect_ex(("127.0.0.1", site.port))
                selector.register(connection, selectors.EVENT_READ)
        for key, _ in selector.select(0.1):
            selector.unregister(key.fileobj)
            key.fileobj.close()
        time.sleep(0.1)


def reconnect(site, results, over):
    """Connects for each request. Returns the slowest time and the answers other than 200."""
    slowest, count, failures = 0, 0, []
    while not over.is_set():
        start = time.monotonic()
        try:
            with site.open("127.0.0.4") as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                status = connection.recv(65_536).split(b"\r\n")[0]
            if b" 200 " not in status + b" ":
                failures.append(status.decode())
        except OSError as error:
            failures.append(str(error))
        slowest, count = max(slowest, time.monotonic() - start), count + 1
        over.wait(0.05)
    results.put((slowest, count, failures))


@contextlib.contextmanager
def running(processes):
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def stop(site, daemon):
    """Sends SIGTERM. Returns the seconds until connections are refused and until the end, and the exit code."""
    start = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    while True:
        try:
            socket.create_connection(("127.0.0.1", site.port), 1, ("127.0.0.4", 0)).close()
        except ConnectionRefusedError:
            break
        except OSError:
            pass
        if time.monotonic() - start > GRACE:
            break
    refused = time.monotonic() - start
    daemon.communicate(timeout=60)
    return refused, time.monotonic() - start, daemon.returncode


def busy(sealpost, has_tls, seconds):
    with Site(sealpost, has_tls) as site:
        daemon = site.serve()
        scheme = "https" if has_tls else "http"
        url = f"{scheme}://127.0.0.1:{site.port}/api/notifications/{post_notices(site)}"
        alone = steady_requests(site, url, seconds)
        results, over = multiprocessing.Queue(), multiprocessing.Event()
        asked = [LIST.format(api.basic(f"reader{number}")).encode() * 20 for number in range(LISTS)]
        generators = [
            multiprocessing.Process(target=pipeline, args=(site, "127.0.0.2", [SIGNED.encode() * 200] * PIPELINING)),
            multiprocessing.Process(target=pipeline, args=(site, "127.0.0.2", asked)),
            multiprocessing.Process(target=open_all_connections, args=(site, "127.0.0.3")),
        ]
        newcomer = multiprocessing.Process(target=reconnect, args=(site, results, over))
        with running(generators):
            if has_tls:
                processes.run("gcc", "-O2", "-o", program := site.folder / "key-updates", rig.FOLDER / "key-updates.c", "-lssl", "-lcrypto")
                site.start(["nice", "-n", "19", program, str(site.port)])
            # Until all of them have begun.
            steady_requests(site, url, 2)
            before = processes.processor_time(daemon)
            with running([newcomer]):
                beside = steady_requests(site, url, seconds)
                load = (processes.processor_time(daemon) - before) / seconds
                over.set()
                slowest, count, failures = results.get(timeout=60)
            refused, ended, code = stop(site, daemon)

    p99, longest = percentile(beside), max(beside)
    print(
        f"{'TLS' if has_tls else 'clear'}: fetches beside the busy ones, p99 {p99 * 1000:.2f} ms (at most {P99 * 1000:.0f}; "
        f"alone {percentile(alone) * 1000:.2f}), longest {longest * 1000:.1f} ms; slowest of {count} new "
        f"connections {slowest * 1000:.1f} ms (at most {LONGEST * 1000:.0f}), {len(failures)} failed "
        f"{sorted(set(failures))[:3]}; the daemon used {load:.2f} cores; after SIGTERM connections were refused in "
        f"{refused * 1000:.1f} ms (at most {REFUSED * 1000:.0f}), ended with {code} in {ended:.2f} s (at most {GRACE})",
        flush=True,
    )
    return (p99 <= P99 and max(longest, slowest) <= LONGEST and not failures and refused <= REFUSED and ended <= GRACE and code == 0)


def run(options):
    processes.raise_descriptor_limit()
    results = [busy(options.sealpost, has_tls, options.seconds) for has_tls in (False, True)]
    require(all(results))
