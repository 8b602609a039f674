"""Looks for the content of end-to-end payloads in all that the server has, and compares them with an independent HPKE.

The library for Python sends thousands of payloads with a random word to a user's device, which opens all of them. The word may be
nowhere: in answers, files, log, metrics, a backup, memory and a core dump. Without encryption the program must find it in answers,
memory and dump. It does the same with PostgreSQL, and searches the cluster's files after a checkpoint and a dump of pg_dump. As a
control it must find a word of a table in heap, WAL and dump. The core dump is gdb's, as root: the server forbids the kernel's.
Before that, pyhpke opens a payload of the library, and makes one that the library opens.
"""

import contextlib
import subprocess
import sys
import time

from sealpost_e2e import api, environment, postgresql, processes, require, rig
from sealpost_e2e.programs import canaries

environment.enter()  # It has `cryptography`.
sys.path.append(str(rig.ROOT / "Clients/python"))

import hashlib  # noqa: E402

import pyhpke  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402

from sealpost import Client, Notification, end_to_end, user  # noqa: E402

WORD, OVERLAP = canaries.LETTERS, 512  # Longer than the longest spelling.
OPTIONS = {"--count": (10_000, "the number of payloads")}


def run(options):
    compare_with_pyhpke()
    compare(options)
    with postgresql.Cluster() as cluster:
        compare(options, cluster, ("dump", "base", "pg_wal"))


def compare(options, cluster=None, places=()):
    found = {is_encrypted: tour(options, is_encrypted, options.count, cluster) for is_encrypted in (True, False)}
    for place, count in found[True].items():
        require(not count, f"{place}: the word was found {count} times in spite of encryption")
    for place in ("answers", "memory", "core", *places):
        require(found[False][place], f"{place}: without encryption the word was not found, so the search proves nothing")
    where = {place: count for place, count in found[False].items() if count}
    print(f"{options.count} encrypted payloads: the word is nowhere in {len(found[True])} places; without encryption: {where}", flush=True)


def compare_with_pyhpke():
    """Opens a payload with the steps of docs/end-to-end.md alone, and makes one."""
    suite = pyhpke.CipherSuite.new(pyhpke.KEMId.DHKEM_P256_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM)
    sender, signing, agreement = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    key = end_to_end.DeviceKey(end_to_end.device_key("A" * 22, signing, agreement, 1))
    backend, info = end_to_end.SenderKey(sender), b"sealpost-e2e.1.1\n" + b"A" * 22 + b"\ndefault"
    own, other, public = map(pyhpke.KEMKey.from_pyca_cryptography_key, (agreement, sender, sender.public_key()))
    text = end_to_end.Encryption(backend, end_to_end.Pins(), changed=print).encrypt("x", [end_to_end.DeviceRecipient("alice", key)])
    front, entry = text.rsplit(".", 1)
    header, content = front.rsplit(".", 1)
    wrapped, zeros = end_to_end._bytes(entry[22:]), bytes(12)
    wrapping = suite.create_recipient_context(wrapped[:65], own, info=info, pks=public).export(hashlib.sha256(front.encode()).digest(), 16)
    plain = AESGCM(AESGCM(wrapping).decrypt(zeros, wrapped[65:], None)).decrypt(zeros, end_to_end._bytes(content), header.encode())
    require(plain == b'"x"\x80' + bytes(252), f"pyhpke has opened something else: {plain}")
    enc, context = suite.create_sender_context(pyhpke.KEMKey.from_pyca_cryptography_key(key.public), info=info, sks=other)
    content_key = bytes(range(16))
    front = f"{header}.{end_to_end._text(AESGCM(content_key).encrypt(zeros, plain, header.encode()))}"
    wrapped = enc + AESGCM(context.export(hashlib.sha256(front.encode()).digest(), 16)).encrypt(zeros, content_key, None)
    made = f"{front}.{key.id}{end_to_end._text(wrapped)}"
    if end_to_end.open_payload(made, key, agreement, [backend.text])[0] != '"x"':
        raise SystemExit("the library has opened something else than pyhpke has encrypted")


class Device:
    """A registered device with keys for end-to-end encryption."""

    def __init__(self, site, name):
        self.credentials, self.connection = api.basic(name), site.connect()
        self.account = self.ask("GET", "/api/sessions/current")["Account"]
        id = api.register(self.connection, self.credentials, Platform="stream")
        self.signing, self.agreement = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        text = end_to_end.device_key(self.account, self.signing, self.agreement, int(time.time()))
        self.ask("PUT", f"/api/devices/{id}/key", {"Key": text})
        self.key = end_to_end.DeviceKey(text)

    def ask(self, method, path, body=None):
        return api.ask(self.connection, method, path, body, self.credentials)

    def listed(self):
        """The pages of the list as received."""
        self.connection.close()  # On a busy machine the server has closed the idle connection; this opens another.
        cursor = ""
        while True:
            path = f"/api/notifications?limit=500&key={self.key.id}{cursor}"
            _, _, answer = api.exchange(self.connection, "GET", path, None, {"Authorization": self.credentials})
            yield answer
            page = end_to_end.json.loads(answer)
            if not page["More"]:
                return
            cursor = "&cursor=" + page["Cursor"]


def tour(options, is_encrypted, count, cluster=None):
    database = {"DATABASE": cluster.url} if cluster else {}
    if cluster and not is_encrypted:
        cluster.query("drop database sealpost", "postgres")
        cluster.query("create database sealpost", "postgres")
    with rig.Rig(options.sealpost, "admin", LOG_LEVEL="trace", LOG_FILE="server.log", **database) as site:
        site.add_user("bob")
        daemon = site.start_daemon(stderr=subprocess.DEVNULL)
        processes.wait_until(lambda: api.is_ready(site.port), 30, "the server", daemon)
        device, sender = Device(site, "bob"), end_to_end.SenderKey.generate()
        with Client(f"http://127.0.0.1:{site.port}", user=("alice", api.PASSWORD)) as client:
            send(client, end_to_end.Encryption(sender, end_to_end.Pins(), changed=len), count, is_encrypted)
        pages = list(device.listed())
        found = {"answers": sum(len(canaries.find(page, WORD)) for page in pages)}
        found["memory"] = sum(len(canaries.find(piece, WORD)) for piece in memory(daemon.pid))
        connection = site.connect()
        metrics = api.ask(connection, "GET", "/metrics", credentials=api.basic("alice"))
        processes.run("gcore", "-o", site.folder / "core", daemon.pid)
        (site.folder / f"core.{daemon.pid}").rename(site.folder / "core")
        folders = [site.folder]
        if cluster:
            if not is_encrypted:
                cluster.query(f"create table control as select '{WORD}'")
            (site.folder / "dump").write_text(processes.run(*cluster.command("pg_dump"), *cluster.address, postgresql.NAME, cwd=cluster.folder))
            cluster.query("checkpoint")
            folders.append(cluster.folder)
        else:
            site.call("backup", "copy.db")
        processes.terminate(daemon)
        found["metrics"] = len(canaries.find(metrics.encode(), WORD))
        for folder, file in ((folder, file) for folder in folders for file in folder.rglob("*") if file.is_file()):
            place = file.relative_to(folder).parts[:2][-1]
            found[place] = found.get(place, 0) + sum(len(canaries.find(piece, WORD)) for piece in pieces(file))
        items = [item for page in pages for item in end_to_end.json.loads(page)["Notifications"]]
        require(len(items) == count, f"{len(items)} of {count} payloads are in the list")
        if is_encrypted:
            opened = {end_to_end.open_payload(item["Payload"], device.key, device.agreement, [sender.text])[0] for item in items}
            require(len(opened) == count and all(WORD in text for text in opened), "the device has not opened all payloads")
        return found


def send(client, encryption, count, is_encrypted):
    """Sends half of the payloads in batches."""
    orders = [Notification(f"{WORD} {number}", to=user("bob")) for number in range(count)]
    if is_encrypted:
        [bob] = client.device_keys(user("bob"))
        recipients, _ = encryption.pins.check(bob.name, bob.account, bob.keys)
        orders = [Notification(encryption.encrypt(order.payload, recipients), to=order.to) for order in orders]
    client.send_many(orders[: count // 2])
    for order in orders[count // 2 :]:
        client.send(order)


def pieces(file):
    """A file in pieces that overlap by `OVERLAP`. Leaves out zeros, of which a dump has hundreds of MB."""
    with open(file, "rb") as file:
        while piece := file.read(1 << 20):
            if len(piece) == 1 << 20:
                file.seek(-OVERLAP, 1)
            if piece.count(0) < len(piece):
                yield piece


def memory(pid):
    """The memory that a process can write, in pieces that overlap."""
    size = 1 << 24
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            start, end = (int(part, 16) for part in place.split("-"))
            if "rw" not in rights:
                continue
            for at in range(start, end, size):
                with contextlib.suppress(OSError, ValueError):  # The kernel's own pages.
                    memory.seek(at)
                    yield memory.read(min(size + OVERLAP, end - at))
