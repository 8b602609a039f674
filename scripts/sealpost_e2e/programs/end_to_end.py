"""Looks for the content of end-to-end payloads in everything that the server has: its answers, files, log, metrics, backup and memory.

The library for Python sends thousands of payloads with a random word to a user's device, alone and in batches. The word may be
nowhere; then the device opens all payloads of its list. As a control, the same happens without encryption: then the program must
find the word in the answers and in the server's memory.
"""

import subprocess
import sys
import time

from sealpost_e2e import api, processes, rig
from sealpost_e2e.programs import canaries

sys.path.append(str(rig.ROOT / "Clients/python"))

from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

from sealpost import Client, Notification, end_to_end, user  # noqa: E402

WORD = canaries.LETTERS


def add_options(parser):
    parser.add_argument("--count", type=int, default=10_000, help="the number of payloads")


def run(options):
    found = {is_encrypted: tour(options, is_encrypted) for is_encrypted in (True, False)}
    for place, count in found[True].items():
        if count:
            raise SystemExit(f"{place}: the word was found {count} times in spite of encryption")
    for place in ("answers", "memory"):
        if not found[False][place]:
            raise SystemExit(f"{place}: without encryption the word was not found, so the search proves nothing")
    print(f"{options.count} encrypted payloads: the word is nowhere; without encryption: {found[False]}")


class Device:
    """A registered device with keys for end-to-end encryption."""

    def __init__(self, site, name):
        self.credentials, self.connection = api.basic(name), site.connect()
        self.account = self.ask("GET", "/api/sessions/current")["Account"]
        id = self.ask("POST", "/api/register")
        self.ask("PUT", f"/api/register/{id}", {"Platform": "stream"})
        self.signing, self.agreement = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        text = end_to_end.device_key(self.account, self.signing, self.agreement, int(time.time()))
        self.ask("PUT", f"/api/devices/{id}/key", {"Key": text})
        self.key = end_to_end.DeviceKey(text)

    def ask(self, method, path, body=None):
        return api.ask(self.connection, method, path, body, self.credentials)

    def listed(self):
        """The pages of the list as received."""
        cursor = ""
        while True:
            self.connection.request("GET", f"/api/notifications?limit=500&key={self.key.id}{cursor}", headers={"Authorization": self.credentials})
            answer = self.connection.getresponse().read()
            yield answer
            page = end_to_end.json.loads(answer)
            if not page["More"]:
                return
            cursor = "&cursor=" + page["Cursor"]


def tour(options, is_encrypted):
    with rig.Rig(options.sealpost, "admin", LOG_LEVEL="trace", LOG_FILE="server.log") as site:
        site.add_user("bob")
        daemon = site.start_daemon(stderr=subprocess.DEVNULL)
        processes.wait_until(lambda: is_ready(site), 30, "the server", daemon)
        device, sender = Device(site, "bob"), end_to_end.SenderKey.generate()
        with Client(f"http://127.0.0.1:{site.port}", user=("alice", api.PASSWORD)) as client:
            send(client, end_to_end.Encryption(sender), options.count, is_encrypted)
        pages = list(device.listed())
        found = {"answers": sum(len(canaries.find(page, WORD)) for page in pages)}
        found["memory"] = sum(len(canaries.find(piece, WORD)) for piece in memory(daemon.pid))
        connection = site.connect()
        metrics = api.ask(connection, "GET", "/metrics", credentials=api.basic("alice"))
        subprocess.run([site.sealpost, "backup", "copy.db"], cwd=site.folder, env=site.environment, check=True, stdout=subprocess.DEVNULL)
        processes.terminate(daemon)
        found["metrics"] = len(canaries.find(metrics.encode(), WORD))
        for file in sorted(file for file in site.folder.rglob("*") if file.is_file()):
            found[file.name] = len(canaries.find(file.read_bytes(), WORD))
        items = [item for page in pages for item in end_to_end.json.loads(page)["Notifications"]]
        if len(items) != options.count:
            raise SystemExit(f"{len(items)} of {options.count} payloads are in the list")
        if is_encrypted:
            opened = {end_to_end.open_payload(item["Payload"], device.key, device.agreement, [sender.text])[0] for item in items}
            if len(opened) != options.count or not all(WORD in text for text in opened):
                raise SystemExit("the device has not opened all payloads")
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


def is_ready(site):
    try:
        connection = site.connect()
        connection.timeout = 2
        return api.status(connection, "/readyz") == 200
    except OSError:
        return False


def memory(pid):
    """The memory that a process can write, in pieces that overlap by the length of the longest spelling."""
    size, overlap = 1 << 24, 512
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            start, end = (int(part, 16) for part in place.split("-"))
            if "rw" not in rights:
                continue
            for at in range(start, end, size):
                try:
                    memory.seek(at)
                    yield memory.read(min(size + overlap, end - at))
                except (OSError, ValueError):
                    continue  # The kernel's own pages.
