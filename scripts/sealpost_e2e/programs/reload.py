"""Reloads by SIGHUP again and again under load, with good and bad configuration files. No request may fail.

Clients fetch and post without a pause, over kept connections and over new ones. Meanwhile the file is exchanged for good
ones, each with another quota, log level and limits, and for bad ones. After each signal the line of the log is read; a good
file is in force at the next request, and a bad one has changed nothing.
"""

import http.client
import os
import signal
import threading
import time

from sealpost_e2e import api, processes, rig

FETCHERS, POSTERS, STRANGERS = 4, 3, 2
GOOD = """
quotas:
  device: {{requests: {requests}, window: {window}}}
server:
  limits: {{headerCount: {fields}, bodyBytes: {bytes}}}
log: {{level: {level}}}
"""
# What the log says of each.
BAD = {
    "quotas: {device: {requests: 0, window: 60}}": "quotas.device.requests",
    "quotas: {device: {request: 10}}": "is not known here",
    "log: {level: loud}": "log.level",
    "server: {limits: {headerBytes: many}}": "server.limits.headerBytes",
    "quotas: [": "is not YAML",
    "- a list": "must be a mapping",
    "server: {trustedProxies: [0.0.0.0/0], identityHeader: X-User}": "trustedProxies",
    None: "cannot be read",
}
RESTART = "changed configuration is not in use before a restart"


class Load:
    """Clients that keep their connections, and strangers with a new one for each request."""

    def __init__(self, port, known):
        self.port, self.known = port, known
        self.failures, self.answered, self.posted = [], 0, {}
        self.lock, self.ends = threading.Lock(), threading.Event()
        roles = [(self.fetch, True)] * FETCHERS + [(self.post, True)] * POSTERS + [(self.fetch, False)] * STRANGERS
        self.threads = [threading.Thread(target=self.run, args=(*role, n)) for n, role in enumerate(roles)]
        for thread in self.threads:
            thread.start()

    def run(self, role, keeps, number):
        connection, turn = api.connect(self.port), 0
        while not self.ends.is_set():
            turn += 1
            try:
                role(connection, f"{number}-{turn}")
                with self.lock:
                    self.answered += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                with self.lock:
                    self.failures.append(f"{time.strftime('%T')} {role.__name__} {number}-{turn}: {error!r}")
                connection.close()
            if not keeps:
                connection.close()
        connection.close()

    def fetch(self, connection, _):
        id, payload = self.known
        if (found := api.fetch(connection, id)) != payload:
            raise ValueError(f"fetched {found!r}")

    def post(self, connection, name):
        id = api.post(connection, name)
        with self.lock:
            self.posted[id] = name

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


class Log:
    """Reads the daemon's standard error, so that it never stands still."""

    def __init__(self, process):
        self.lines, self.process = [], process
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def wait(self, since, *texts):
        """Waits for a line with all of the texts."""
        found = lambda: any(all(text in line for text in texts) for line in self.lines[since:])
        processes.wait_until(found, 20, f"a line with {texts}", self.process)


def add_options(parser):
    parser.add_argument("--count", type=int, default=200, help="reloads (200)")


def run(options):
    # The environment is stronger than the file, so nothing of it is given there.
    quotas = {name: value for name, value in rig.QUOTAS.items() if name.startswith("STORAGE")}
    with rig.Rig(options.sealpost, quotas=quotas) as site:
        file = site.folder / "sealpost.yaml"
        write(file, good(0))
        daemon = site.start_daemon("--config", file)
        processes.wait_for_line(daemon, "serving")
        log = Log(daemon)
        connection = site.connect()
        known = (api.post(connection, "known"), "known")
        load = Load(site.port, known)
        last, refused = 0, 0
        try:
            for number in range(1, options.count + 1):
                since = len(log.lines)
                if number % 2:
                    write(file, good(number))
                    os.kill(daemon.pid, signal.SIGHUP)
                    log.wait(since, "configuration reloaded", "quotas.device.requests")
                    last = number
                else:
                    text, words = list(BAD.items())[number // 2 % len(BAD)]
                    write(file, text)
                    os.kill(daemon.pid, signal.SIGHUP)
                    log.wait(since, "configuration reload failed", words)
                    refused += 1
                check(site, connection, log, last)
                if load.failures:
                    break
        finally:
            load.stop()
        # Back to the beginning, with a key that only a restart brings: it is named, and the rest is in force.
        since = len(log.lines)
        write(file, good(0) + "notifications: {maxPayload: 100}\n")
        os.kill(daemon.pid, signal.SIGHUP)
        log.wait(since, RESTART, "keys=notifications.maxPayload")
        check(site, connection, log, 0)
        api.post(connection, "x" * 200)
        # The new quota is not only shown.
        since = len(log.lines)
        write(file, "quotas: {device: {requests: 5, window: 3600}}")
        os.kill(daemon.pid, signal.SIGHUP)
        log.wait(since, "configuration reloaded", "quotas.device.window")
        for number in range(6):
            # What was used of the old quota may take one of them.
            api.ask(connection, "GET", "/api/register", expected=[(200,), (200, 429), (429,)][max(0, number - 3)])
        write(file, "quotas: {device: null}")
        os.kill(daemon.pid, signal.SIGHUP)
        processes.wait_until(lambda: policy(connection) is None, 20, "the end of the quota", daemon)
        missing = sum(api.fetch(connection, id) != payload for id, payload in load.posted.items())
        daemon.send_signal(signal.SIGTERM)
        code = daemon.wait(60)
    if load.failures:
        print(*load.failures[:20], sep="\n")
    print(
        f"{options.count} reloads, {refused} of them refused: {len(load.failures)} of "
        f"{load.answered + len(load.failures)} requests failed, {missing} of {len(load.posted)} posts lost; exit code {code}"
    )
    if load.failures or missing or code or not load.answered:
        raise SystemExit(1)


def values(number):
    """Another set for each number."""
    return {
        "requests": 90_000_000 - number, "window": 60 + number % 7, "fields": 50 + number % 40,
        "bytes": 20_000 + number, "level": ("info", "notice", "debug")[number // 2 % 3],
    }


def good(number):
    return GOOD.format(**values(number))


def write(file, text):
    """Puts the whole file in place at once."""
    if text is None:
        return file.unlink()
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def policy(connection):
    """The quota that an answer shows."""
    connection.request("GET", "/api/register", headers={"Authorization": api.CREDENTIALS})
    response = connection.getresponse()
    response.read()
    return response.getheader("RateLimit-Policy")


def check(site, connection, log, number):
    """Whether the values of that number are in force: the quota, also for who is remembered, the level, and two limits."""
    wanted = values(number)
    shown = policy(connection)
    if shown != (expected := f'"device";q={wanted["requests"]};w={wanted["window"]}'):
        raise SystemExit(f"reload {number}: the quota is {shown} and not {expected}")
    new = site.connect()
    for size, statuses in ((wanted["bytes"] - 2, (200, 201)), (wanted["bytes"], (413,))):
        api.ask(new, "POST", "/api/notifications", "x" * size, expected=statuses)
        new.close()
    marker = f"reload-{number}-{time.monotonic_ns()}"
    since = len(log.lines)
    new.request("GET", "/healthz", headers={"X-Request-ID": marker})
    new.getresponse().read()
    new.request("GET", "/healthz", headers={f"X-{n}": "y" for n in range(wanted["fields"])})
    if (status := new.getresponse().status) != 431:
        raise SystemExit(f"reload {number}: too many fields are answered {status}")
    new.close()
    is_logged = lambda: any(marker in line for line in log.lines[since:])
    if wanted["level"] == "debug":
        processes.wait_until(is_logged, 20, "the line of a request at debug")
    elif is_logged():
        raise SystemExit(f"reload {number}: a request was logged at {wanted['level']}")
