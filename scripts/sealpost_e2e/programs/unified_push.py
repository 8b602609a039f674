"""Sends pushes to a UnifiedPush server that was not written here: Prosody with mod_unified_push, both from Debian.

Prosody gives each app an endpoint and passes its pushes over XMPP to a distributor, as Conversations is on a phone; here the program
is the distributor of two apps. Each push must arrive once, and http_ece must decrypt it to the id of the notification. When
Prosody loses an endpoint and answers 404, the device is retired. At last Prosody ends: the push is retried.
"""

from sealpost_e2e import environment

environment.enter(".venv-test")

import base64
import contextlib
import json
import re
import secrets
import socket
import subprocess
import threading
import xml.etree.ElementTree as xml

import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sealpost_e2e import api, processes, require, rig, tls

UNIFIED_PUSH = "http://gultsch.de/xmpp/drafts/unified-push"
SASL, BIND = "urn:ietf:params:xml:ns:xmpp-sasl", "urn:ietf:params:xml:ns:xmpp-bind"
STREAM = "<stream:stream to='localhost' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"


def run(options):
    with rig.Rig(options.sealpost, role="publisher") as site:
        prosody = Prosody(site)
        distributors = [Distributor(prosody) for _ in range(2)]
        apps = [App(distributor) for distributor in distributors]
        site.configuration.write_text(
            'senders:\n  webpush: {type: webpush, subject: "mailto:ops@example.com", allowPrivateAddresses: true, '
            f'caFile: "{prosody.certificate}", allowedHosts: ["localhost:{prosody.port}"]}}\n'
        )
        daemon, _ = site.serve()
        processes.drain(daemon)
        client = site.connect()
        devices = [app.register(client) for app in apps]
        send(client, apps, devices, ["fetched", "fetched"])

        prosody.expire(apps[0])
        send(client, apps[1:], devices, ["failed", "fetched"])
        handle = {"Platform": "webpush", "Handle": apps[0].handle}
        if "410" not in str(api.ask(client, "PUT", f"/api/register/{devices[0]}", handle, expected=[410])):
            raise SystemExit("the device of the lost endpoint is not retired")

        processes.kill(prosody.process)
        id = api.post(client, {"Payload": "later", "To": ["username:alice"]})
        report = lambda: api.ask(client, "GET", f"/api/notifications/{id}/deliveries")["Deliveries"]
        processes.wait_until(lambda: report() and report()[0]["Reason"], 60, "the first attempt", daemon)
        push = report()[0]
        if len(report()) != 1 or push["State"] != "queued":
            raise SystemExit(f"the push to a server that does not run is not retried: {report()}")
        print(f"Prosody's UnifiedPush: 3 pushes arrived and were decrypted; 404 retired a device; \"{push['Reason']}\" is retried")


def send(client, apps, devices, states):
    """Posts a notification; it must reach these apps, and end so at each device."""
    id = api.post(client, {"Payload": "hello", "To": ["username:alice"]})
    for app in apps:
        push = json.loads(app.next_push())
        require(push.get("id") == id or str(id) in json.dumps(push), f"the push of {id} is {push}")
    require(api.fetch(client, id) == "hello", "the payload is wrong")

    def ends():
        entries = api.ask(client, "GET", f"/api/notifications/{id}/deliveries")["Deliveries"]
        found = {entry["Device"]: (entry["State"], entry["Reason"]) for entry in entries}
        return [found.get(device) for device in devices]

    try:
        processes.wait_until(lambda: [end[0] for end in ends()] == states, 30, "the ends")
    except SystemExit:
        raise SystemExit(f"the pushes of {id} ended as {ends()}, not {states}")


class Prosody:
    """Prosody on this machine, for anonymous users."""

    def __init__(self, site):
        folder = self.folder = site.folder / "prosody"
        folder.mkdir()
        self.certificate, key = tls.make_certificate(folder)
        self.port, self.client_port = processes.free_port(), processes.free_port()
        (folder / "prosody.cfg.lua").write_text(f"""
            run_as_root = true
            data_path, pidfile = "{folder}", "{folder}/pid"
            interfaces = {{ "127.0.0.1" }}
            c2s_ports, c2s_direct_tls_ports, s2s_ports, http_ports = {{ {self.client_port} }}, {{}}, {{}}, {{}}
            https_ports, https_interfaces = {{ {self.port} }}, {{ "127.0.0.1" }}
            https_ssl = {{ certificate = "{self.certificate}", key = "{key}" }}
            http_external_url = "https://localhost:{self.port}/"
            modules_enabled = {{ "saslauth", "disco", "unified_push" }}
            modules_disabled = {{ "s2s" }}
            authentication, allow_anonymous_storage = "anonymous", true
            c2s_require_encryption = false
            log = {{ info = "{folder}/log" }}
            VirtualHost "localhost"
        """)
        self.process = site.start(["prosody", "-F", "--config", folder / "prosody.cfg.lua"], cwd=folder, stderr=subprocess.DEVNULL)
        for port in (self.client_port, self.port):
            processes.wait_until(lambda: processes.listens(port), 30, f"Prosody, see {folder}/log,")

    def expire(self, app):
        """Removes an app's endpoint."""
        token = app.endpoint.rpartition("/")[2]
        name = re.sub("[^0-9A-Za-z]", lambda match: f"%{ord(match[0]):02x}", token)
        (self.folder / "localhost/unified_push" / f"{name}.dat").unlink()


class Distributor:
    """An XMPP client that passes pushes to its apps."""

    def __init__(self, prosody):
        self.apps, self.answers, self.arrived = {}, {}, threading.Condition()
        self.socket = socket.create_connection(("127.0.0.1", prosody.client_port), timeout=30)
        self.parser = xml.XMLPullParser(["start", "end"])
        self.depth = 0
        self.begin()
        self.write(f"<auth xmlns='{SASL}' mechanism='ANONYMOUS'/>")
        self.read(f"{{{SASL}}}success")
        self.begin()
        self.write(f"<iq type='set' id='bind'><bind xmlns='{BIND}'/></iq>")
        self.read("{jabber:client}iq")
        self.socket.settimeout(None)
        threading.Thread(target=self.listen, daemon=True).start()

    def begin(self):
        """Opens a stream, and reads its features."""
        self.parser, self.depth = xml.XMLPullParser(["start", "end"]), 0
        self.write(STREAM)
        self.read("{http://etherx.jabber.org/streams}features")

    def register(self, app):
        """The endpoint of an app."""
        self.write(
            f"<iq type='set' to='localhost' id='register-{len(self.apps)}'>"
            f"<register xmlns='{UNIFIED_PUSH}' application='{app.application}' instance='{app.instance}'/></iq>"
        )
        self.apps[app.instance] = app
        with self.arrived:
            require(self.arrived.wait_for(lambda: "registered" in self.answers, 30), "Prosody registers no app")
            return self.answers.pop("registered").get("endpoint")

    def listen(self):
        with contextlib.suppress(OSError):  # Prosody has ended.
            while True:
                stanza = self.next()
                if (found := stanza.find(f"{{{UNIFIED_PUSH}}}registered")) is not None:
                    with self.arrived:
                        self.answers["registered"] = found
                        self.arrived.notify_all()
                elif (push := stanza.find(f"{{{UNIFIED_PUSH}}}push")) is not None:
                    self.apps[push.get("instance")].receive(base64.b64decode(push.text))
                    self.write(f"<iq type='result' to='localhost' id='{stanza.get('id')}'/>")

    def write(self, text):
        self.socket.sendall(text.encode())

    def read(self, name):
        element = self.next()
        require(element.tag == name, f"Prosody sends {xml.tostring(element)}, not {name}")
        return element

    def next(self):
        """The next child of the stream."""
        while True:
            for event, element in self.parser.read_events():
                self.depth += 1 if event == "start" else -1
                if event == "end" and self.depth == 1:
                    return element
            if not (bytes := self.socket.recv(65536)):
                raise OSError("Prosody has closed the stream")
            self.parser.feed(bytes)


class App:
    """An app on a phone: it has a key pair, and an endpoint from its distributor."""

    def __init__(self, distributor):
        self.application, self.instance = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2))
        self.pushes, self.arrived = [], threading.Condition()
        self.key, self.secret = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(16)
        point = self.key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.endpoint = distributor.register(self)
        self.handle = {"endpoint": self.endpoint, "keys": {"p256dh": api.base64url(point), "auth": api.base64url(self.secret)}}

    def register(self, client):
        """Registers its device at the daemon. Returns the registration id."""
        return api.register(client, Platform="webpush", Handle=self.handle)

    def receive(self, body):
        with self.arrived:
            self.pushes.append(body)
            self.arrived.notify_all()

    def next_push(self):
        """The plaintext of the next push; there must be one."""
        with self.arrived:
            require(self.arrived.wait_for(lambda: self.pushes, 30), f"no push came to {re.sub('push/.*', 'push/…', self.endpoint)}")
            body = self.pushes.pop(0)
            require(not self.pushes, "a push came twice")
        return http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret, version="aes128gcm").decode()
