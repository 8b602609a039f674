"""Backs up under full load, restores elsewhere, and compares row by row: with the source, and with what clients were told.

Clients post and fetch, one request after the other, beside 32 connections of wrk that do so as fast as they are answered.
Meanwhile `sealpost backup` copies the database three times, and each copy is restored in a folder of its own, with a copy of the
keyring.

- Each table of the restored database has the rows of the copy, and no other.
- Notifications, recipients, users, devices, tags and the audit in the copy are, to the byte, rows of the source in the end.
- A copy has what was acknowledged before `backup` began, nothing that was posted after its end, and of each client's posts in
  between a beginning without a gap: it is one moment.
- A daemon on the restored database gives out each payload that a client has posted.

With --control a row is taken out of each copy: then the program must fail.
"""

import contextlib
import pathlib
import shutil
import sqlite3
import threading
import time

from sealpost_e2e import api, figures, outbox, processes

CLIENTS, CONNECTIONS = 4, 32
# What there is before: devices, and batches of so many notifications of so many bytes.
DEVICES, BATCHES, BATCH, BYTES = 20_000, 40, 500, 2000
# Seconds between two copies.
PAUSE = 3
# What does not change any more once it is written, of the rows that nothing here deletes.
LASTING = {
    "notification": "*", "recipient": "notification_id, user_id, mac", "user": "id, name, name_key, role", "device": "*",
    "device_tag": "*", "audit": "*", "data_key": "number, check_value",
}
LOAD = """
local fields, count = {Authorization = "%s"}, 0
local post = '{"Payload":"' .. string.rep("x", 300) .. '"}'
function request()
    count = count + 1
    if count %% 4 == 0 then return wrk.format("POST", "/api/notifications", fields, post) end
    return wrk.format("GET", "/api/notifications/%d", fields)
end
"""


class Client(threading.Thread):
    """Posts and fetches; keeps the number, the payload, and from when until when each post took."""

    def __init__(self, site, name, ends):
        super().__init__()
        self.site, self.client, self.ends, self.posts, self.failure = site, name, ends, [], None
        self.start()

    def run(self):
        connection = self.site.connect()
        try:
            while not self.ends.is_set():
                payload, begin = f"{self.client}: {len(self.posts)}", time.monotonic()
                id = api.post(connection, payload)
                self.posts.append((id, payload, begin, time.monotonic()))
                if api.fetch(connection, id) != payload:
                    raise api.UnexpectedAnswer(f"{id} has another payload")
        except (OSError, api.UnexpectedAnswer) as error:
            self.failure = error
            self.ends.set()


def add_options(parser):
    parser.add_argument("--count", type=int, default=3, help="copies (3)")
    parser.add_argument("--control", action="store_true", help="take a row out of each copy: the program must then fail")


def run(options):
    with outbox.Outbox(options.sealpost) as site:
        site.configuration.write_text("server: {}\n")
        daemon, _ = site.serve()
        processes.terminate(daemon)
        with site.database() as database:
            outbox.add_devices(database, "fcm", DEVICES)
        daemon, _ = site.serve()
        fill(site)
        with loaded(site, daemon) as clients:
            copies = []
            for number in range(options.count):
                time.sleep(PAUSE)
                copies.append(back_up(site, number))
            time.sleep(PAUSE)
        code = processes.terminate(daemon)[0]
        if options.control:
            for path, *_ in copies:
                lose(path, clients[0].posts[0][0])
        posts = sum(len(client.posts) for client in clients)
        durations = [(end - begin) * 1000 for client in clients for *_, begin, end in client.posts]
        print(
            f"{posts} posts of {CLIENTS} clients beside {CONNECTIONS} connections: "
            f"99 in 100 took at most {figures.percentile(durations):.0f} ms, the slowest {max(durations):.0f} ms"
        )
        results = [judge(site, clients, *copy) for copy in copies]
        failures = [client.failure for client in clients if client.failure]
        results.append(figures.report(not failures and code == 0, f"failed requests: {failures or 'none'}; exit code {code}"))
        if not all(results):
            raise SystemExit(1)


def fill(site):
    connection = site.connect()
    for _ in range(BATCHES):
        order = {"Notifications": [{"Payload": "x" * BYTES}] * BATCH}
        api.ask(connection, "POST", "/api/notifications/batch", order)


@contextlib.contextmanager
def loaded(site, daemon):
    """Clients and wrk, which run as long as the block."""
    known, ends = api.post(site.connect(), "known"), threading.Event()
    script = site.folder / "load.lua"
    script.write_text(LOAD % (api.sign_in(site.connect(), "alice"), known))
    wrk = site.start(
        ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--duration", "10m", "--script", script,
            f"http://127.0.0.1:{site.port}/"],
    )
    clients = [Client(site, f"client {number}", ends) for number in range(CLIENTS)]
    try:
        yield clients
        if wrk.poll() is not None or daemon.poll() is not None:
            raise SystemExit(f"the load or the daemon has ended: {site.log.read_text()[-2000:]}")
    finally:
        ends.set()
        wrk.kill()
        for client in clients:
            client.join()


def back_up(site, number):
    """A copy: its path, and when `backup` began and ended."""
    copy, begin = site.folder / f"copy-{number}.db", time.monotonic()
    processes.run(site.sealpost, "backup", copy, cwd=site.folder, env=site.environment)
    return copy, begin, time.monotonic()


def lose(path, id):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("delete from recipient where notification_id = ?", [id])
        database.execute("delete from notification where id = ?", [id])


def judge(site, clients, copy, begin, end):
    """Restores a copy elsewhere and compares. Whether all is well."""
    folder = site.folder / f"elsewhere-{copy.stem}"
    (folder / "var").mkdir(parents=True)
    for name in ("keyring", "signing-keys"):
        shutil.copy(site.folder / "var" / name, folder / "var")
    processes.run(site.sealpost, "restore", copy, cwd=folder, env=site.environment)
    with contextlib.closing(sqlite3.connect(copy)) as database:
        database.execute("attach ? as restored", [str(folder / "var/sealpost.db")])
        database.execute("attach ? as source", [str(site.folder / "var/sealpost.db")])
        tables = [name for name, in database.execute("select name from main.sqlite_master where type = 'table'")]
        count = sum(database.execute(f"select count(*) from main.{table}").fetchone()[0] for table in tables)
        changed = {table: n for table in tables if (n := differing(database, table, "main", "restored", "*"))}
        changed |= {table: n for table in tables if (n := differing(database, table, "restored", "main", "*"))}
        foreign = {table: n for table, columns in LASTING.items() if (n := differing(database, table, "main", "source", columns))}
        ids = {id for id, in database.execute("select id from main.notification")}
    known = [[id in ids for id, *_ in client.posts] for client in clients]
    # What the answer to a post that had ended had acknowledged; and what was sent after the copy was there.
    lost = sum(id not in ids for client in clients for id, _, _, until in client.posts if until < begin)
    early = sum(id in ids for client in clients for id, _, since, _ in client.posts if since > end)
    gaps = sum(one < other for row in known for one, other in zip(row, row[1:]))
    wrong = serve_and_fetch(site, folder, [post for client in clients for post in client.posts if post[0] in ids])
    text = (
        f"{copy.name}, {copy.stat().st_size >> 20} MiB in {end - begin:.1f} s: {count} rows of {len(tables)} tables; "
        f"restored otherwise: {changed or 'none'}; not as in the source: {foreign or 'none'}; acknowledged and lost: {lost}; "
        f"of later: {early}; gaps: {gaps}; of {sum(map(sum, known))} payloads not given out: {wrong}"
    )
    return figures.report(not (changed or foreign or lost or early or gaps or wrong), text)


def differing(database, table, one, other, columns):
    """How many rows of a table are in one database and not in the other."""
    query = f"select {columns} from {one}.{table} except select {columns} from {other}.{table}"
    return database.execute(f"select count(*) from ({query})").fetchone()[0]


def serve_and_fetch(site, folder: pathlib.Path, posts):
    """How many payloads a daemon on the restored database does not give out."""
    port = processes.free_port()
    environment = site.environment | {"SEALPOST_SERVER_LISTEN": f"127.0.0.1:{port}"}
    daemon = site.start([site.sealpost, "serve"], cwd=folder, env=environment)
    processes.wait_for_line(daemon, "serving")
    connection = api.connect(port)
    answers = ((api.ask(connection, "GET", f"/api/notifications/{id}", expected=(200, 404)), payload) for id, payload, *_ in posts)
    wrong = sum(answer.get("Payload") != payload for answer, payload in answers)
    processes.terminate(daemon)
    return wrong
