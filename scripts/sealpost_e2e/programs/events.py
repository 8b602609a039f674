"""Sends a million pushes, kills the daemon meanwhile, and checks that the receiver of events misses none.

The receiver must get exactly one event with the end of every push, equal to that of its row; the sums must equal the daemon's
tally. It verifies signatures and order, and sometimes refuses a message, or accepts one and closes the connection: numbers may
repeat. With --control the receiver forgets one event; then the program must fail.
"""

import array
import base64
import collections
import hashlib
import hmac
import json
import random
import time

from sealpost_e2e import outbox, processes, require

CANARY = "canary-7f3a"
# Some pushes fail, and some devices are retired meanwhile.
FAULTS = ["every 1000: status 400 body {\"reason\":\"PayloadTooLarge\"}", "every 9001: status 410 body {\"reason\":\"Unregistered\"}"]
REFUSED, CUT = 40, 61
OPTIONS = {
    "--pushes": (1_000_000, "pushes in total"), "--kills": (20, "kills of the daemon"), "--seconds": (3600, "timeout"),
    "--seed": (random.randrange(1 << 32), "seed of the random instants"),
    "--control": "forget one event: the program must then fail",
}


def run(options):
    instants = random.Random(options.seed)
    with outbox.Outbox(options.sealpost) as site:
        simulators = site.simulate(*FAULTS)
        book = add_receiver(site)
        devices = options.pushes // outbox.BROADCASTS
        with site.database() as database:
            outbox.add_devices(database, "apns", devices // 2)
            outbox.add_devices(database, "fcm", devices - devices // 2)
        begin = time.monotonic()
        daemon, _ = site.serve()
        site.post_broadcasts(CANARY, lifetime=max(2, options.pushes // 8_000))
        daemon = crash(site, daemon, options.kills, options.pushes, instants, options.seconds)
        site.wait_until_settled(options.seconds, "the end of all pushes", daemon, pause=0.2)
        settled = time.monotonic() - begin
        waiting = "select exists (select 1 from event where kind <> 0 and number > (select delivered from event_state))"
        processes.wait_until(lambda: not site.read(waiting), options.seconds, "the end of all events", daemon, pause=0.2)
        seconds = time.monotonic() - begin
        processes.terminate(daemon)
        processes.terminate(simulators)
        if options.control:
            push, kind = book.ends.popitem()
            book.counts[Book.KINDS[kind]] -= 1
        fits, text = compare(site, book)
        print(
            f"{text}; {options.kills} kills (seed {options.seed}), in {seconds:.0f} s, all events at the receiver "
            f"{seconds - settled:.1f} s after the last push"
        )
        require(fits)


class Book:
    """The receiver's events, each under its number, and only once."""

    KINDS = ("accepted", "failed", "expired", "cancelled", "collected", "retired")

    def __init__(self, key):
        self.key = key
        self.numbers = set()  # Numbers of events; and for those with an end, the push and its end.
        self.ends = {}
        self.counts = collections.Counter()
        self.devices = {}
        self.messages = self.refused = self.cut = self.repeated = 0
        self.faults = collections.Counter()

    def take(self, head, body):
        pairs = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value.strip() for name, value in pairs}
        signed = b".".join((fields[b"webhook-id"], fields[b"webhook-timestamp"], body))
        expected = b"v1," + base64.b64encode(hmac.digest(self.key, signed, "sha256"))
        if fields[b"webhook-signature"] != expected or abs(int(fields[b"webhook-timestamp"]) - time.time()) > 300:
            self.faults["wrong signature"] += 1
        if CANARY.encode() in body:
            self.faults["payload in an event"] += 1
        events = json.loads(body)["data"]["Events"]
        numbers = array.array("q", (event["Number"] for event in events))
        if list(numbers) != sorted(set(numbers)) or not 1 <= len(numbers) <= 500:
            self.faults["wrong order"] += 1
        for event in events:
            self.note(event)

    def note(self, event):
        number, kind = event["Number"], event["Kind"]
        if number in self.numbers:
            self.repeated += 1
            return
        self.numbers.add(number)
        self.counts[kind] += 1
        if kind not in outbox.STATES:
            return
        device = self.devices.setdefault(event["Device"], len(self.devices))
        push = event["Notification"] << 32 | device
        if push in self.ends:
            self.faults["second end of a push"] += 1
        self.ends[push] = self.KINDS.index(kind)


def add_receiver(site):
    secret = hashlib.sha256(b"events").digest()
    book = Book(secret)

    def answer(request, _):
        # The daemon sends one message at a time; a killed daemon's last one may overlap with the next daemon's first.
        with hook.lock:
            hook.requests.clear()
            book.messages += 1
            if book.messages % REFUSED == 0:
                book.refused += 1
                return b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
            head, _, body = request.partition(b"\r\n\r\n")
            book.take(head, body)
            if book.messages % CUT == 0:
                book.cut += 1
                raise OSError("the connection ends here")
            return b"HTTP/1.1 204 No Content\r\n\r\n"

    hook = site.add_events(answer, secret)
    return book


def crash(site, daemon, kills, pushes, instants, seconds):
    """Kills and restarts the daemon several times while pushes end. Returns the last process."""
    # A push that expires before the fan-out is never enqueued, so some may be missing at the end.
    share = pushes * (outbox.BROADCASTS - 1.5) / outbox.BROADCASTS / kills
    ended = "select coalesce(sum(count), 0) from tally where state <> 'enqueued'"
    for number in range(kills):
        least = share * (number + instants.random())
        processes.wait_until(lambda: site.read(ended) >= least, seconds, f"kill {number + 1}", daemon, pause=0.01)
        time.sleep(instants.uniform(0, 0.3))
        processes.kill(daemon)
        daemon, _ = site.serve()
    return daemon


def compare(site, book):
    """Whether the receiver has all events, and a line that says so."""
    tally = site.tally()
    ends = {state: book.counts[state] for state in outbox.STATES}
    missing = tally["enqueued"] - len(book.ends)
    other = 0
    with site.database() as database:
        query = "select d.notification_id, v.id, d.state from push d join device v on v.number = d.device"
        for notification, device, state in database.execute(query):
            push = notification << 32 | book.devices.get(device, 0xFFFFFFFF)
            other += book.ends.get(push) != Book.KINDS.index(state)
    fits = not missing and not other and not book.faults and not tally["pending"] and all(
        ends[state] == tally[state] for state in outbox.STATES
    )
    counts = ", ".join(f"{count} {state}" for state, count in ends.items())
    text = (
        f"{tally['enqueued']} pushes, {missing} without their event, {other} whose event is not their row's state; events: "
        f"{counts}, {book.counts['retired']} retired; tally {'agrees' if fits else tally}; {book.messages} messages, "
        f"{book.refused} of them refused and {book.cut} taken without an answer, {book.repeated} events came again; "
        f"faults: {dict(book.faults)}"
    )
    return fits, text
