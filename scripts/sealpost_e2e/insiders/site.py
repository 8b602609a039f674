"""The daemon of a run, with its providers and honest users, whom no move may harm."""

import json
import multiprocessing
import os
import secrets
import subprocess

from sealpost_e2e import api, outbox, processes, receiver, require, tls
from sealpost_e2e.insiders import network, receivers

LANES = ("apns", "fcm", "wns", "webpush", "webhook", "stream")
# Device tokens with these are unknown to the simulators, or known as unregistered.
INVENTED, GONE = "0badc0de0badc0de", "dead0410dead0410"
BROWSERS, CHANNELS, CROWD = 12, 40, 100_000

UNKNOWN_TO_FCM = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "bad token", "details": [
    {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "message.token"}]}]}}
GONE_FROM_FCM = {"error": {"code": 404, "status": "NOT_FOUND", "message": "gone", "details": [
    {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "UNREGISTERED"}]}}
FAULTS = [
    f'apns device {INVENTED}: status 400 body {{"reason":"BadDeviceToken"}}',
    f'apns device {GONE}: status 410 body {{"reason":"Unregistered"}}',
    f"fcm device {INVENTED}: status 400 body {json.dumps(UNKNOWN_TO_FCM)}",
    f"fcm device {GONE}: status 404 body {json.dumps(GONE_FROM_FCM)}",
]


class Site(outbox.Outbox):
    """A daemon with default limits and all kinds of senders. alice publishes, root administers."""

    def __init__(self, sealpost, crowd=CROWD):
        super().__init__(sealpost, quotas={}, EVENTS_KEEP=604800)
        self.add_user("root", "admin")
        self.simulate(*FAULTS, channels=CHANNELS)
        network.name_hosts(self.folder)
        self.configure()
        self.receive()
        with self.database() as database:
            outbox.add_devices(database, "apns", crowd, tags=["crowd"])

    def configure(self):
        """Adds the senders that the simulators lack."""
        names = [*network.NAMES, network.HOOKS]
        certificate, key = tls.make_certificate(self.folder, *names)
        # One file of authorities for the simulated WNS and for its wildcard hosts.
        both = self.folder / "authorities.pem"
        both.write_text((self.folder / "simulators/ca.pem").read_text() + certificate.read_text())
        receiver.write_secret(self.folder / "hook.secret")
        text = self.configuration.read_text()
        position = text.index("  wns:")
        text = text[:position] + text[position:].replace("simulators/ca.pem", "authorities.pem")
        text = text.replace('allowedHosts: ["localhost', f'allowedHosts: ["*.{network.WNS}", "localhost')
        self.configuration.write_text(
            text + "  stream: {type: stream}\n"
            f'  webpush: {{type: webpush, subject: "mailto:ops@example.com", allowedHosts: ["*.{network.PUSH}"], '
            "caFile: certificate.pem}\n"
            f'  webhook: {{type: webhook, url: "https://{network.HOOKS}/hook", secretFile: hook.secret, caFile: certificate.pem}}\n'
        )
        self.certificate = certificate, key

    def receive(self):
        self.arrivals = self.folder / "arrivals"
        ready = multiprocessing.Event()
        arguments = (*self.certificate, self.arrivals, ready)
        multiprocessing.Process(target=receivers.serve, args=arguments, daemon=True).start()
        require(ready.wait(30), "the receivers do not listen")

    def create_honest_users(self):
        """Creates the honest users, their devices and notifications, while the daemon runs."""
        self.publisher = api.sign_in(self.connect(), "alice")
        connection = self.connect()
        self.admin = "Bearer " + api.ask(
            connection, "POST", "/api/sessions", {"Scopes": ["fetch", "send", "register", "manage"]}, api.basic("root")
        )["Token"]
        self.channel_list = iter(self.channels())
        self.devices = {}  # The canary's recipient.
        for lane in LANES:
            users = [f"on-{lane}-{number}" for number in range(BROWSERS if lane == "webpush" else 1)]
            self.devices[lane] = [(name, *self.settle(name, lane)) for name in users]
        # The moves guess this user's password.
        self.make_user("victor")
        processes.wait_until(self.is_reached, 60, "the first pushes", pause=0.1)

    def is_reached(self):
        """Whether every push has ended but those to the stream, which is not always open."""
        return self.read("select not exists (select 1 from push where settled_at is null and lane <> 'stream')")

    def settle(self, name, lane):
        """Creates an honest user with a device. Returns its id, its handle and the `Authorization` field."""
        authorization, connection = self.make_user(name), self.connect()
        handle = self.handle(lane, name)
        id = api.register(connection, authorization, Platform=lane, Tags=["honest"], **({"Handle": handle} if handle else {}))
        if lane == "webhook":
            api.ask(connection, "POST", f"/api/register/{id}/confirmation", self.code(handle), authorization)
        connection.close()
        return id, handle, authorization

    def code(self, handle):
        """Waits for the code that was sent to a webhook's handle, and returns it."""
        def find():
            lines = self.arrivals.read_text().splitlines() if self.arrivals.exists() else []
            return next((code for _, kind, code, *rest in map(str.split, lines) if kind == "confirmation" and rest == [handle]), None)

        processes.wait_until(find, 30, "the code of a webhook")
        return find()

    def handle(self, lane, word="x", host="honest"):
        """A free handle at a provider, with the word in it if the provider allows that."""
        number = secrets.token_hex(8)
        match lane:
            case "apns": return f"{number}{number}".ljust(64, "1")
            case "fcm": return f"token-{word}-{number}"
            case "wns" if host == "honest": return next(self.channel_list)
            case "wns": return f"https://{host}.{network.WNS}/w/?token={number}"
            case "webpush":
                return json.dumps({"endpoint": f"https://{host}.{network.PUSH}/{word}/{number}", "keys": browser_keys()})
            case "webhook": return f"hook-{word}-{number}"
            case "stream": return None

    def make_user(self, name, role="device"):
        """Creates a user while the daemon runs. Returns the `Authorization` field of a session."""
        connection = self.connect()
        body = {"Name": name, "Password": api.PASSWORD, "Role": role}
        api.ask(connection, "POST", "/api/users", body, self.admin)
        authorization = api.sign_in(connection, name)
        connection.close()
        return authorization

    def send(self, name, order):
        """Posts to a user as the publisher. Returns the notification's id."""
        return self.post(order | {"To": [f"username:{name}"]}, credentials=self.publisher)


def browser_keys():
    """Keys like a browser's; the run never decrypts with them."""
    command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-outform", "DER"]
    point = subprocess.run(command, capture_output=True, check=True).stdout[-65:]
    return {"p256dh": api.base64url(point), "auth": api.base64url(os.urandom(16))}
