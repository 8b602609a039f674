"""A headless Firefox over its Marionette protocol, and the push service that it subscribes with.

All names resolve to this machine. The push service speaks Mozilla's autopush protocol over a WebSocket, and passes on what the
server posts to its endpoints: the browser itself decrypts each push.
"""

import base64
import hashlib
import json
import re
import socket
import subprocess
import uuid

from sealpost_e2e import api, listening, processes
from sealpost_e2e.chromium import Failure


class PushService(listening.Listener):
    """Gives browsers subscriptions below `endpoints`."""

    def __init__(self, endpoints):
        self.endpoints, self.channels = endpoints, {}
        super().__init__()

    def serve(self, connection):
        stream = connection.makefile("rwb")
        head = b"".join(iter(stream.readline, b"\r\n"))
        key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)[1]
        accepted = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        stream.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: push-notification\r\n"
                     b"Sec-WebSocket-Accept: " + accepted + b"\r\n\r\n")
        stream.flush()
        while frame := stream.read(2):
            length = frame[1] & 127
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big") if length > 125 else length
            mask, text = stream.read(4), stream.read(length)
            if frame[0] & 15 != 1:
                return
            message = json.loads(bytes(byte ^ mask[at % 4] for at, byte in enumerate(text)))
            kind, channel = message.get("messageType"), message.get("channelID")
            if kind == "hello":
                self.send(stream, {"messageType": "hello", "uaid": message.get("uaid") or uuid.uuid4().hex, "status": 200, "use_webpush": True})
            elif kind == "register":
                self.channels[channel] = stream
                self.send(stream, {"messageType": "register", "channelID": channel, "status": 200, "pushEndpoint": self.endpoints + channel})
            elif kind == "unregister":
                self.channels.pop(channel, None)
                self.send(stream, {"messageType": "unregister", "channelID": channel, "status": 200})

    def send(self, stream, message):
        text = json.dumps(message).encode()
        # Firefox refuses a length that is not in its shortest form.
        length = bytes([len(text)]) if len(text) < 126 else b"\x7e" + len(text).to_bytes(2, "big")
        stream.write(b"\x81" + length + text)
        stream.flush()

    def deliver(self, request):
        """Passes on a request to an endpoint. Returns whether it has a subscription."""
        head, _, body = request.partition(b"\r\n\r\n")
        channel = head.split(b" ", 2)[1].decode().rpartition("/")[2]
        if channel not in self.channels:
            return False
        data = api.base64url(body)
        self.send(self.channels[channel], {
            "messageType": "notification", "channelID": channel, "version": uuid.uuid4().hex, "data": data, "headers": {"encoding": "aes128gcm"},
        })
        return True


class Firefox:
    """A browser with its own profile; used with `with`. `service` is its push service."""

    def __init__(self, service, executable="firefox-esr"):
        self.holder, self.folder = processes.make_profile()
        self.number = 0
        preferences = {
            "marionette.port": 0, "alerts.useSystemBackend": False, "remote.prefs.recommended": False, "network.dns.forceResolve": "127.0.0.1", "dom.push.serverURL": f"ws://127.0.0.1:{service.port}/",
            "dom.push.testing.allowInsecureServerURL": True, "permissions.default.desktop-notification": 1,
            "dom.webnotifications.requireuserinteraction": False, "browser.shell.checkDefaultBrowser": False,
            "datareporting.policy.dataSubmissionEnabled": False, "app.update.auto": False, "network.captive-portal-service.enabled": False,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        (self.folder / "user.js").write_text("\n".join(lines))
        self.command = [executable, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", self.folder, "about:blank"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"})
        port = self.folder / "MarionetteActivePort"
        processes.wait_until(lambda: port.exists() and port.read_text(), 90, "Firefox")
        self.stream = socket.create_connection(("127.0.0.1", int(port.read_text())), timeout=200).makefile("rwb")
        self.read()
        self.call("WebDriver:NewSession", acceptInsecureCerts=True, timeouts={"script": 180_000})
        return self

    def __exit__(self, *_):
        processes.end(self.process)
        self.holder.cleanup()

    def read(self):
        """A message: its length, a colon and JSON."""
        length = b""
        while (byte := self.stream.read(1)) != b":":
            length += byte
        return json.loads(self.stream.read(int(length)))

    def call(self, command, **parameters):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        _, _, error, result = self.read()
        if error:
            raise Failure(f"{command}: {error['error']}, {error['message']} {error.get('data')}")
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, url):
        """A new tab with a page, which is the current one from now on. Returns its handle."""
        self.switch(tab := self.call("WebDriver:NewWindow", type="tab")["handle"])
        self.call("WebDriver:Navigate", url=url)
        return tab

    def switch(self, tab):
        self.call("WebDriver:SwitchToWindow", handle=tab)

    def evaluate(self, script, context="content"):
        """The value of an expression or its promise in the current tab, or in the browser itself (`chrome`)."""
        # A page keeps the members of `window`.
        self.call("Marionette:SetContext", value=context)
        wrapped = f"const done = arguments[0]; (async () => {{ return {script} }})().then(value => done([value ?? null]), error => done(['', `${{error}} ${{error?.stack ?? ''}}`]))"
        value, *error = self.call("WebDriver:ExecuteAsyncScript", script=wrapped, args=[], sandbox=None)
        self.call("Marionette:SetContext", value="content")
        if error:
            raise Failure(f"{error[0]} in {script[:300]}")
        return value
