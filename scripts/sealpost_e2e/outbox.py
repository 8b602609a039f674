"""Common parts of the programs about delivery: filling the outbox without a daemon, and counting the outcomes."""

import contextlib
import hashlib
import json
import pathlib
import random
import sqlite3
import struct
import time
import uuid

from sealpost_e2e import api, processes, receiver, rig, sealing, tls

# A device's handle, made from the numbers of user and device; WNS issues its own.
HANDLES = {
    "apns": "printf('%032x%032x', :first, n)",
    "fcm": "printf('token-%016x%016x', :first, n)",
    "wns": "(select url from channel where channel.n = number.n)",
}
DEVICES = """
create temporary table number (n integer primary key);
create temporary table channel (n integer primary key, url text);
insert into number with recursive c(n) as (select 0 union all select n + 1 from c where n + 1 < :count) select n from c;
insert into channel select key, value from json_each(:channels);
insert into account (id, name, name_key, role, password, created_at)
    select :first + n, sealed(:NAME, :first + n, 'user' || (:first + n)), hashed('user name', 'user' || (:first + n)), 'device', '', :now
    from number where n < :users;
insert into device (number, id, user_id, platform, lane, handle, handle_key, tags, created_at, registered_at)
    select :last + 1 + n, :platform || '-' || :first || '-' || n, :first + n / :each, :platform, :platform,
        sealed(:HANDLE, :last + 1 + n, {handle}), hashed('device handle', {handle}),
        sealed(:TAGS, :last + 1 + n, '["username:user' || (:first + n / :each) || '"' || :more || ']'), :now, :now
    from number order by n;
insert into device_tag (device, tag) select number, hashed('device tag', 'username:user' || user_id) from device where user_id >= :first;
insert into device_tag (device, tag) select number, hashed('device tag', value) from json_each(:tags), device where user_id >= :first;
drop table number;
drop table channel
"""
PUSHES = """
insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at, expires_at)
    values (:id, 0, 1, 0, 'high', :seed, :now, :end);
insert or ignore into recipient (notification_id, user_id, change, changed_at, mac) select :id, user_id, :id, :now, 0 from device;
insert into push (notification_id, device, user_id, lane, is_bulk, state, due_at)
    select :id, number, user_id, lane, 1, 'queued', :now from device where lane is not null;
insert into tally (lane, state, count) select lane, 'enqueued', count(*) from push where notification_id = :id group by lane
    on conflict (lane, state) do update set count = count + excluded.count
"""
# RFC 9562, section 5.8: the positions and values of version and variant.
VERSION_MASK, VERSION_8 = 0xF << 76 | 0x3 << 62, 0x8 << 76 | 0x2 << 62
STATES = ("accepted", "expired", "failed", "cancelled")
# Broadcasts: two replace each other and one expires soon, so that every outcome occurs.
BROADCASTS, COLLAPSING, SHORT = 10, (5, 6), 7


class Outbox(rig.Rig):
    """A rig with senders: alice may publish, and the daemon's log is the file `log`."""

    def __init__(self, sealpost, **settings):
        super().__init__(sealpost, role="publisher", **settings)
        self.log = self.folder / "log"

    def serve(self):
        """Starts a daemon and waits until it serves. Returns the process and its start time."""
        position = self.log.stat().st_size if self.log.exists() else 0
        start = time.monotonic()
        process = self.start_blindly()
        while b"serving" not in self.read_log(position):
            if process.poll() is not None:
                raise SystemExit(f"the daemon ended: {self.log.read_text()[-2000:]}")
            time.sleep(0.002)
        return process, start

    def start_blindly(self):
        """Starts a daemon without waiting."""
        with open(self.log, "a") as log:
            return self.start_daemon(stderr=log)

    def read_log(self, position=0):
        with open(self.log, "rb") as log:
            log.seek(position)
            return log.read()

    def simulate(self, *faults, channels=1, options=()):
        """Starts simulators with these faults, and configures the daemon for them; `received` has their requests."""
        demo = pathlib.Path(self.sealpost).with_name("sealpost-demo")
        if not demo.exists():
            debug = "; .build/debug has a debug build only" if (rig.ROOT / ".build/debug/sealpost-demo").exists() else ""
            raise SystemExit(f"{demo}, which has the simulators, is not there: run make release-demo{debug}")
        options = [*options, *(text for fault in faults for text in ("--fault", fault))]
        output = self.folder / "simulators.log"
        with open(output, "w") as file:
            process = self.start(
                [demo, "simulate", "--folder", "simulators", "--log", "received",
                    "--channels", str(channels), *options],
                cwd=self.folder, env=self.environment, stdout=file, stderr=file,
            )
        while "Ready" not in output.read_text():
            if process.poll() is not None:
                raise SystemExit(f"the simulators ended: {output.read_text()}")
            time.sleep(0.01)
        self.configuration = self.folder / "simulators/sealpost.yaml"
        return process

    def add_senders(self):
        """Configures senders for event streams, and for browsers at a service that does not exist."""
        with open(self.configuration, "a") as file:
            file.write("  stream: {type: stream}\n")
            file.write('  webpush: {type: webpush, subject: "mailto:ops@example.com", allowedHosts: ["push.example.com"]}\n')

    def add_webhook(self):
        """Configures a sender of webhooks, and starts its receiver, which accepts everything."""
        certificate, key = tls.make_certificate(self.folder)
        hook = receiver.Receiver(certificate, key, receiver.accept)
        secret = receiver.write_secret(self.folder / "hook.secret")
        with open(self.configuration, "a") as file:
            file.write(f"  hook: {{type: webhook, url: 'https://localhost:{hook.port}/hook', secretFile: {secret}, caFile: {certificate}}}\n")
        return hook

    def add_events(self, answer, secret=bytes(32)):
        """Configures a receiver of events, and starts it with these answers."""
        certificate, key = tls.make_certificate(self.folder)
        hook = receiver.Receiver(certificate, key, answer)
        file = receiver.write_secret(self.folder / "events.secret", secret)
        with open(self.configuration, "a") as text:
            text.write(f"events: {{webhook: {{url: 'https://localhost:{hook.port}/events', secretFile: {file}, caFile: {certificate}}}}}\n")
        return hook

    def channels(self):
        """The addresses that WNS has issued."""
        return (self.folder / "simulators/channels").read_text().split()

    def await_log(self, simulators):
        """Waits until the simulators have written their log, which they do every second, and ends them."""
        time.sleep(2)
        simulators.terminate()
        simulators.wait(timeout=60)

    @contextlib.contextmanager
    def database(self):
        """A separate connection; it may write only while no daemon runs."""
        database = sqlite3.connect(self.folder / "var/sealpost.db", timeout=60, isolation_level=None)
        try:
            database.execute("pragma foreign_keys = on")
            sealing.Sealing(self.folder / "var/keyring", database)
            yield database
        finally:
            database.close()

    def received(self, position=0):
        """The lines of `received` so far, from a position: seconds since 1970, platform, push, outcome, device."""
        with open(self.folder / "received") as file:
            file.seek(position)
            for line in file:
                if line.endswith("\n"):
                    at, *rest = line.split()
                    yield int(at) / 1000, *rest

    def tally(self):
        """The numbers of pushes enqueued, settled by outcome, and pending, each counted separately."""
        with self.database() as database:
            counts = dict(database.execute("select state, sum(count) from tally group by state"))
        pending = self.read("select count(*) from push where settled_at is null")
        return {state: counts.get(state, 0) for state in ("enqueued", *STATES)} | {"pending": pending}

    def post_broadcasts(self, text, lifetime):
        """Posts broadcasts, one with this lifetime in seconds. Returns their ids."""
        connection, ids = self.connect(), []
        for number in range(BROADCASTS):
            more = {"CollapseKey": "latest"} if number in COLLAPSING else {"ExpiresIn": lifetime} if number == SHORT else {}
            ids.append(api.post(connection, {"Payload": f"{text} {number}", "To": ["news"]} | more))
        return ids

    def wait_until_settled(self, seconds, what, process, pause=0.02):
        """Waits until no push is pending; ends the program at a timeout or at the end of `process`."""
        processes.wait_until(self.is_settled, seconds, what, process, pause)

    def is_settled(self):
        return self.read("select not exists (select 1 from push where settled_at is null) and not exists (select 1 from fanout)")


def add_devices(database, platform, count, each_user=1, tags=("news",), channels=()):
    """Registers devices of new users, `each_user` devices each, with these tags and the user's own."""
    first = database.execute("select coalesce(max(id), 0) from account").fetchone()[0] + 1
    # The last number that was ever issued: encryption binds values to their number.
    last = database.execute("select coalesce((select seq from sqlite_sequence where name = 'device'), 0)").fetchone()[0]
    run_all(
        database, DEVICES.replace("{handle}", HANDLES[platform]), platform=platform, first=first, last=last, count=count, each=each_user,
        users=-(-count // each_user), tags=json.dumps(tags), more="".join(f',"{tag}"' for tag in tags), channels=json.dumps(channels),
        now=milliseconds(), NAME=sealing.NAME, HANDLE=sealing.HANDLE, TAGS=sealing.TAGS,
    )


def enqueue(database):
    """Enqueues a push to each device, as a completed fan-out does. Returns the notification's id."""
    id, now = random.randrange(1, 1 << 31), milliseconds()
    run_all(database, PUSHES, id=id, seed=random.randrange(1 << 62), now=now, end=now + 86_400_000)
    return id


def run_all(database, script, **values):
    """Runs the statements of a script in one transaction; they name the values."""
    with transaction(database):
        for statement in script.split(";\n"):
            database.execute(statement, values)


def apns_id(seed, device):
    """The id of a push in all tries, a UUID of version 8: see `Push.attemptID`."""
    hash = hashlib.sha256(struct.pack(">qq", seed, device)).digest()
    return str(uuid.UUID(int=int.from_bytes(hash[:16], "big") & ~VERSION_MASK | VERSION_8))


@contextlib.contextmanager
def transaction(database):
    database.execute("begin immediate")
    yield
    database.execute("commit")


def milliseconds():
    return int(time.time() * 1000)
