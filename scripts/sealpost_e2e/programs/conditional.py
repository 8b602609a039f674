"""Tests conditional requests of caching clients: curl with `--etag-save`, hishel, CacheControl, requests-cache.

For single notifications and lists the server answers 304 until a change, and then 200; the client always shows the current
answer. Within `max-age` the client makes no request. Two users with one cache never get each other's answers. The program
counts the requests between client and server.
"""

import collections
import contextlib
import json
import pathlib
import tempfile
import time

from sealpost_e2e import environment, require

environment.enter()

import cachecontrol
import hishel
import hishel.httpx
import requests
import requests_cache

from sealpost_e2e import api, listening, processes, rig

MAX_AGE = 3
LISTS = ("/api/notifications", "/api/notifications?unread=true&limit=50")
OPTIONS = {"--quick": "without lists for a client that needs pauses"}


class Wire(listening.WebServer):
    """Forwards requests to the daemon, and records their conditions and statuses."""

    def __init__(self, daemon):
        self.daemon, self.seen = daemon, []
        super().__init__(self.forward)
        self.site = f"http://127.0.0.1:{self.port}"

    def forward(self, path, fields, _):
        with contextlib.closing(self.daemon.connect()) as connection:
            answer = api.exchange(connection, "GET", path, None, dict(fields))
        self.seen.append((fields.get("If-None-Match"), answer[0]))
        return answer

    def take(self):
        """The requests and answers since the last call."""
        seen, self.seen = self.seen, []
        return seen


# MARK: Clients: each starts with an empty cache, and returns the status and body that an app would see.

class Curl:
    """Keeps tag and body in files by user, as curl has no cache."""

    name, keeps_fresh, tells_by_date = "curl", False, False

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sealpost-")

    def get(self, url, user):
        stem = pathlib.Path(self.folder.name) / str(abs(hash((url, user))))
        tag, body, new = stem.with_suffix(".tag"), stem.with_suffix(".body"), stem.with_suffix(".new")
        status = int(processes.run(
            "curl", "--silent", "--show-error", "--max-time", "60", "--user", f"{user}:{api.PASSWORD}", "--etag-compare", tag,
            "--etag-save", tag, "--output", new, "--write-out", "%{http_code}", url,
        ))
        if status != 304:
            body.write_bytes(new.read_bytes() if new.exists() else b"")
        new.unlink(missing_ok=True)
        return 200 if status == 304 else status, body.read_bytes()


class Hishel:
    """Keeps both the old and the new answer, and prefers the old one at an equal `Date` (RFC 9111 section 4)."""

    name, keeps_fresh, tells_by_date = "hishel", True, True

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sealpost-")
        storage = hishel.SqliteStorage(database_path=pathlib.Path(self.folder.name) / "cache.db")
        # A cache of one device, and not a shared one.
        self.client = hishel.httpx.CacheClient(storage=storage, rfc=hishel.CacheOptions(shared=False))

    def get(self, url, user):
        response = self.client.get(url, headers={"Authorization": api.basic(user)})
        return response.status_code, response.content


class Requests:
    """Common code of the two caches for the library requests."""

    keeps_fresh, tells_by_date = True, False

    def get(self, url, user):
        response = self.session.get(url, headers={"Authorization": api.basic(user)})
        return response.status_code, response.content


class CacheControl(Requests):
    name = "CacheControl"

    def __init__(self):
        self.session = cachecontrol.CacheControl(requests.Session())


class RequestsCache(Requests):
    name = "requests-cache"

    def __init__(self):
        # By default the library ignores Authorization, although `Vary` names it.
        self.session = requests_cache.CachedSession(backend="memory", cache_control=True, ignored_parameters=[])


CLIENTS = (Curl, Hishel, CacheControl, RequestsCache)


class Trial:
    def __init__(self, site, wire):
        self.site, self.wire = site, wire
        self.counts = collections.Counter()
        self.failures = []

    def ask(self, method, path, body=None, user="alice"):
        """Changes something without the client."""
        with contextlib.closing(self.site.connect()) as connection:
            text = json.dumps(body) if body is not None else None
            status, _, answer = api.exchange(connection, method, path, text, {"Authorization": api.basic(user)})
        return status, answer

    def post(self, *names, **more):
        order = {"Payload": f"for {names}", "To": [f"username:{name}" for name in names]} | more
        return json.loads(self.ask("POST", "/api/notifications", order, user="root")[1])["Id"]

    def look(self, client, path, expected, what, user="alice"):
        """Fetches with the client and checks the content; `expected` is the status on the wire, or `None`."""
        if expected == 200 and client.tells_by_date:
            time.sleep(1.01)
        self.wire.take()
        status, body = client.get(self.wire.site + path, user)
        seen = self.wire.take()
        wanted = [] if expected is None else [expected]
        fresh = self.ask("GET", path, user=user)
        if [status for _, status in seen] != wanted:
            self.failures.append(f"{client.name}, {path}, {what}: {wanted} was expected on the wire, {seen} was there")
        elif (status, body if status == 200 else None) != (fresh[0], fresh[1] if status == 200 else None):
            self.failures.append(f"{client.name}, {path}, {what}: shows {status} {body[:80]}, and not {fresh[0]} {fresh[1][:80]}")
        self.counts[expected] += 1

    def item(self, make):
        """One notification, from its first fetch to its recall."""
        client, id = make(), self.post("alice")
        path = f"/api/notifications/{id}"
        self.look(client, path, 200, "at first")
        self.look(client, path, 304, "again")
        for is_read in (True, False):
            self.ask("PATCH", path, {"Read": is_read})
            self.look(client, path, 200, f"Read: {is_read}")
            self.look(client, path, 304, "again")
        self.ask("DELETE", path, user="root")
        self.look(client, path, 404, "recalled")

    def list(self, make, path):
        """A list that grows by a notification at a time."""
        client = make()
        ids = [self.post("alice") for _ in range(3)]
        self.look(client, path, 200, "at first")
        self.look(client, path, 304, "again")
        for what, change in (
            ("a new one", lambda: self.post("alice")),
            ("one read", lambda: self.ask("PATCH", f"/api/notifications/{ids[0]}", {"Read": True})),
            ("two read", lambda: self.ask("POST", "/api/notifications/read", {"Ids": ids[1:]})),
            ("one unread", lambda: self.ask("PATCH", f"/api/notifications/{ids[0]}", {"Read": False})),
            ("one dismissed", lambda: self.ask("DELETE", f"/api/notifications/{ids[0]}")),
            ("one recalled", lambda: self.ask("DELETE", f"/api/notifications/{self.listed(path)['Notifications'][-1]['Id']}", user="root")),
        ):
            change()
            self.look(client, path, 200, what)
            self.look(client, path, 304, "again")
        for status, what in ((200, "since the last"), (304, "since the last, again")):
            self.look(client, f"{path}{'&' if '?' in path else '?'}since={self.listed(path)['Cursor']}", status, what)

    def listed(self, path):
        return json.loads(self.ask("GET", path)[1])

    def users(self, make):
        """Two users of one device, in sequence."""
        client, id = make(), self.post("alice")
        self.look(client, f"/api/notifications/{id}", 200, "the one")
        self.look(client, f"/api/notifications/{id}", 404, "not the other's", user="bob")
        both = f"/api/notifications/{self.post('alice', 'bob')}"
        self.ask("PATCH", both, {"Read": True})
        for path in (both, *LISTS):
            self.look(client, path, 200, "the one")
            self.look(client, path, 200, "the other", user="bob")

    def freshness(self, make):
        """Within `max-age` the cache answers."""
        client, path = make(), f"/api/notifications/{self.post('alice')}"
        start = time.monotonic()
        self.look(client, path, 200, "at first")
        for _ in range(3):
            self.look(client, path, None, "fresh")
        require(time.monotonic() - start <= MAX_AGE - 1, "this machine is too slow to look within max-age")
        time.sleep(MAX_AGE + 1.1)
        self.look(client, path, 304, "no longer fresh")
        self.look(client, path, None, "fresh again")
        path = f"/api/notifications/{self.post('alice', Store='never')}"
        self.look(client, path, 200, "never stored")
        self.look(client, path, 200, "never stored, again")


def run(options):
    counts, failures = collections.Counter(), []
    for age in (0, MAX_AGE):
        with rig.Rig(options.sealpost, CACHE_MAXAGE=age) as site:
            site.add_user("bob")
            site.add_user("root", "admin")
            site.serve()
            trial = Trial(site, Wire(site))
            for make in CLIENTS:
                if age == 0:
                    trial.item(make)
                    for path in () if options.quick and make.tells_by_date else LISTS:
                        trial.list(make, path)
                elif make.keeps_fresh:
                    trial.freshness(make)
                trial.users(make)
            counts += trial.counts
            failures += trial.failures
    print(*failures, sep="\n")
    print(f"{', '.join(make.name for make in CLIENTS)}: {sum(counts.values())} looks, {counts[200]} times 200, {counts[304]} times 304, "
        f"{counts[None]} times without a request, {counts[404]} times 404; {len(failures)} wrong")
    require(not failures)
