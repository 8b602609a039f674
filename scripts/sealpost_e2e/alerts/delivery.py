"""Faults of a daemon's deliveries with SQLite: refusals, backlogs, a locked database."""

import contextlib
import datetime
import signal
import socket
import time

from sealpost_e2e import api, crew, outbox, processes, receiver
from sealpost_e2e.alerts import watch as watching

DEVICES, RATE = 12_000, 20  # Devices of the slow lane, and its pushes a second.
POSTS = 4000  # Posts that wait while the database is locked.


def run(options, left_out):
    processes.raise_descriptor_limit()
    with outbox.Outbox(options.sealpost) as site:
        hook = prepare(site)
        with watching.Watch(site, [site.port], left_out) as watch:
            daemon, _ = site.serve()
            watch.await_scrape()
            pause_lane(site, watch, daemon)
            refuse_events(site, watch, hook)
            daemon = lose_events(site, watch, hook, daemon)
            fill_queue(site, watch)
        return watch.fired


def prepare(site):
    """A simulated WNS with one device, a slow FCM with many, and a receiver of events."""
    site.add_user("ada", "admin")
    site.simulate()
    text = site.configuration.read_text()
    site.configuration.write_text(text.replace("type: fcm,", f"type: fcm, rate: {RATE},"))
    with site.database() as database:
        outbox.add_devices(database, "wns", 1, channels=site.channels())
        outbox.add_devices(database, "fcm", DEVICES, tags=("many",))
    return site.add_events(receiver.accept)


def post(site, to="news", **rest):
    return site.post({"Payload": "news", "To": [to]} | rest)


def pause_lane(site, watch, daemon):
    """The provider refuses the secret until it is restored."""
    secret = site.folder / "simulators/wns.secret"
    right = secret.read_text()
    reload(site, daemon, secret, "wrong")
    post(site)
    watch.await_firing("SealpostLaneRefused", lane="wns")
    watch.await_firing("SealpostLanePaused", lane="wns")
    reload(site, daemon, secret, right)
    watch.await_clear("SealpostLanePaused", "SealpostLaneRefused")


def reload(site, daemon, file, text):
    """Changes a file with credentials, and reloads the daemon."""
    position = site.log.stat().st_size
    file.write_text(text)
    daemon.send_signal(signal.SIGHUP)
    processes.wait_until(lambda: b"credentials reloaded" in site.read_log(position), 30, "the reload", daemon)


def refuse(request, number):
    return b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"


def refuse_events(site, watch, hook):
    hook.answer = refuse
    post(site)
    watch.await_firing("SealpostEventsPaused")
    watch.await_firing("SealpostEventsOld")
    hook.answer = receiver.accept
    watch.await_clear("SealpostEventsPaused", "SealpostEventsOld")


def lose_events(site, watch, hook, daemon):
    """Events expire while the receiver refuses them: this moves their times in the database."""
    hook.answer = refuse
    # The server never deletes the newest event, so two expire.
    post(site)
    post(site)
    time.sleep(2)
    processes.terminate(daemon)
    with site.database() as database:
        database.execute("update event set at = at - 30 * 86400000")
    daemon, _ = site.serve()
    watch.await_firing("SealpostEventsDropped")
    hook.answer = receiver.accept
    watch.await_clear("SealpostEventsDropped")
    return daemon


def fill_queue(site, watch):
    """Posts overload the slow lane; some of them expire; then the database is locked."""
    post(site, "many", ExpiresIn=2)
    watch.await_firing("SealpostPushesFailing", lane="fcm")
    watch.await_clear("SealpostPushesFailing")
    ids, next_at = [], 0

    def broadcast():
        nonlocal next_at
        if time.monotonic() > next_at:
            ids.append(post(site, "many"))
            next_at = time.monotonic() + 5

    watch.await_firing("SealpostQueueGrowing", meanwhile=broadcast, lane="fcm")
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)
    post(site, SendAt=due.strftime("%Y-%m-%dT%H:%M:%SZ"))
    names = ("SealpostWritesWaiting", "SealpostServerErrors", "SealpostScheduledOverdue", "SealpostQueueStuck")
    credentials = api.sign_in(site.connect(), "alice")
    with locked(site), Posters(site, credentials):
        for name in names:
            watch.await_firing(name)
    for id in ids:
        site.ask("DELETE", f"/api/notifications/{id}")
    watch.await_clear(*names, "SealpostQueueGrowing")


@contextlib.contextmanager
def locked(site):
    """Another program's write transaction stays open."""
    with site.database() as database:
        database.execute("begin immediate")
        yield
        database.execute("rollback")


class Posters(crew.Crew):
    """Many clients post, each on its own connection, during the `with`; the server answers 503."""

    def __init__(self, site, credentials):
        self.port, self.credentials = site.port, credentials
        super().__init__(self.run)

    def run(self):
        body = '{"Payload": "x", "To": ["news"]}'
        head = f"POST /api/notifications HTTP/1.1\r\nHost: h\r\nAuthorization: {self.credentials}\r\nContent-Length: {len(body)}"
        request = f"{head}\r\n\r\n{body}".encode()
        while not self.ends.is_set():
            opened = [socket.create_connection(("127.0.0.1", self.port), timeout=90) for _ in range(POSTS)]
            for one in opened:
                one.sendall(request)
            for one in opened:
                one.recv(4096)
                one.close()
