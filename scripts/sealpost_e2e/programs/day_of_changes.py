"""Measures how much one device account can add to the database in a day.

Daemons without quotas measure what each kind of change leaves after all its notifications have expired, in bytes of used pages.
A day has nine eighths of `quotas.device.changes`, since an eighth may come at once (see `ChangeQuotaTests`). The worst kind and
the account's full storage together may take 20 MB.
"""

import json
import re

from sealpost_e2e import api, processes, require, rig

MOST = 20_000_000
NAME = "n" * 100  # The longest name, so that the audit's entries have their greatest length.
REQUEST = "r" * 128
TAGS = [f"{number:03}" + "t" * 117 for number in range(60)]
DEVICE = {"Platform": "stream", "Tags": TAGS}
DEFAULTS = (rig.ROOT / "config/sealpost.yaml").read_text()
CHANGES = int(re.search(r"^quotas:\n  device: {.*changes: (\d+)}", DEFAULTS, re.M)[1]) * 9 // 8
OPTIONS = {"--count": (2000, "changes of each kind")}


class Account:
    def __init__(self, site):
        self.connection = site.connect()
        self.password = api.basic(NAME)
        self.token = api.sign_in(self.connection, NAME)
        self.number = 0

    def ask(self, method, path, body=None, credentials=None, **fields):
        """Sends a request with a new id of the greatest length. Returns the status and the answer's JSON."""
        fields = {"Authorization": credentials or self.token, "X-Request-Id": REQUEST} | fields
        status, _, answer = api.exchange(self.connection, method, path, None if body is None else json.dumps(body), fields)
        return status, json.loads(answer) if answer.startswith((b"{", b"[", b'"')) else None

    def change(self, *request, **more):
        status, answer = self.ask(*request, **more)
        require(status in (200, 201, 204), f"{request[:2]}: {status} {answer}")
        return answer

    def once(self):
        """A field for an unrepeated request."""
        self.number += 1
        return {"Idempotency-Key": f"k{self.number}"}

    def post(self, **order):
        body = {"Payload": "", "ExpiresIn": 1} | order
        return self.change("POST", "/api/notifications", body, **self.once())["Id"]

    def register(self):
        id = self.change("POST", "/api/register")
        self.change("PUT", f"/api/register/{id}", DEVICE)
        return id


def read_once(account):
    path = f"/api/notifications/{account.post(ReadOnce=True, ExpiresIn=5)}"
    account.change("GET", path)
    account.change("POST", f"{path}/taken")


def session(account):
    token = account.change("POST", "/api/sessions", credentials=account.password)["Token"]
    account.change("DELETE", "/api/sessions/current", credentials=f"Bearer {token}")


def topic(account):
    for method in ("DELETE", "PUT"):
        account.change(method, f"/api/devices/{account.device}/topics/{TAGS[0]}")


def mark(account):
    for read in (True, False):
        account.change("PATCH", f"/api/notifications/{account.kept}", {"Read": read})


def password(account):
    for current, new in ((api.PASSWORD, "another " + api.PASSWORD), ("another " + api.PASSWORD, api.PASSWORD)):
        body = {"Current": current, "New": new}
        account.change("PUT", "/api/users/current/password", body, credentials=api.basic(NAME, current))


BATCH = {"Notifications": [{"Payload": "", "ExpiresIn": 1}] * 100}
# The changes of each kind, and how to make them. Ending a session counts no change.
KINDS = {
    "posts": (1, lambda account: account.post()),
    "batches": (100, lambda account: account.change("POST", "/api/notifications/batch", BATCH, **account.once())),
    "payloads read once": (2, read_once),
    "dismissals": (2, lambda account: account.change("DELETE", f"/api/notifications/{account.post(ExpiresIn=5)}")),
    "schedules": (1, lambda account: account.post(SendAt="2026-11-22T08:30:00.000Z")),
    "registrations": (1, lambda account: account.change("PUT", f"/api/register/{account.device}", DEVICE)),
    "devices": (3, lambda account: account.change("DELETE", f"/api/register/{account.register()}")),
    "topics": (2, topic), "sessions": (1, session), "marks": (2, mark), "passwords": (2, password),
}


class Site(rig.Rig):
    def __init__(self, sealpost, **settings):
        super().__init__(sealpost, **settings)
        self.add_user(NAME)
        self.configuration.write_text("senders: {stream: {type: stream}}\n")
        self.serve()
        self.account = Account(self)

    def used(self):
        """Bytes of used pages, after all that expires soon has expired."""
        soon = "select count(*) from notification where expires_at < (unixepoch() + 600) * 1000"
        processes.wait_until(lambda: self.read(soon) == 0, 180, "the deletion of what has expired", pause=0.5)
        pages = self.read("pragma page_count") - self.read("pragma freelist_count")
        return pages * self.read("pragma page_size")


def store(sealpost):
    with Site(sealpost, quotas={"QUOTAS_DEVICE_CHANGES": "null", "QUOTAS_DEVICE_REQUESTS": 100_000_000}) as site:
        before, account, registered = site.used(), site.account, 0
        while True:
            id = account.change("POST", "/api/register")
            if account.ask("PUT", f"/api/register/{id}", DEVICE)[0] == 409:
                break
            registered += 1
        posted, length = 0, 4000
        while length:
            order = {"Payload": "x" * length, "ExpiresIn": 86_400}
            if account.ask("POST", "/api/notifications", order, **account.once())[0] == 201:
                posted += 1
            else:
                length //= 4
        bytes = site.used() - before
    print(f"{registered} devices and {posted} notifications stored: {bytes / 1e6:.2f} MB")
    return bytes


def each(site, changes, act, count):
    """The bytes that a change of a kind leaves."""
    before, rounds = site.used(), -(-count // changes)
    for _ in range(rounds):
        act(site.account)
    return (site.used() - before) / (rounds * changes)


def run(options):
    stored = store(options.sealpost)
    worst = 0
    with Site(options.sealpost) as site:
        site.account.device = site.account.register()
        site.account.kept = site.account.post(ExpiresIn=86_400)
        for name, (changes, act) in KINDS.items():
            # A change of the password hashes twice.
            bytes = each(site, changes, act, 100 if name == "passwords" else options.count)
            worst = max(worst, bytes * CHANGES)
            print(f"{name}: {bytes:.0f} bytes each, {bytes * CHANGES / 1e6:.2f} MB a day", flush=True)
    print(f"{(worst + stored) / 1e6:.1f} MB at the worst (at most {MOST / 1e6:.0f})")
    require(worst + stored <= MOST)
