"""Tests the client for Android over TLS, behind proxies that cache, change, truncate and invent answers.

Clients with empty storage make five calls through each proxy of `interferers`, with a pinned key and without. With a key they
never trust a wrong answer, and name each interference. A client with cached content shows it with its date. An answer without an
end lasts until the client's deadline. `ProxyInterferenceTests` also checks without a client that each proxy does harm. With TLS
alone, clients name certificates that are neither trusted nor pinned, send each entry of the outbox once, and end the registration
at the server when they sign out.
"""

import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import time

from sealpost_e2e import interferers, listening, processes, require, rig, tls
from sealpost_e2e.rig import ROOT

OPTIONS = {"--only": {"help": "proxies whose name contains this"}}


class Phone:
    """Clients for Android, all in one process."""

    def __init__(self, folder):
        self.certificate, self.key = tls.make_certificate(folder)
        self.server = None
        self.session = {}  # The session of all new clients; without one they use name and password.
        self.count = 0
        self.process = subprocess.Popen(
            [ROOT / "scripts/android-client", "run", "ClientProgram", self.certificate],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

    def front(self, port):
        """TLS in front of a port: the server of all new clients."""
        front = listening.Forwarder(port, tls.serving(self.certificate, self.key))
        self.server = f"https://localhost:{front.port}"
        self.session = {}
        return front

    def sign_in(self, keys):
        """Begins a session for all new clients: with a password, their first request would be another one."""
        self.session = {}
        self.session = self.value(self.new(), "signIn", keys)

    def ask(self, client, call, keys, **rest):
        command = {"server": self.server, "client": client, "call": call, "keys": keys, "user": "alice"} | self.session | rest
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        began, line = time.monotonic(), self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the client ended with {self.process.wait()}")
        if "deadline" in rest:  # Only these calls may end by their deadline, and none later.
            line, took = line.replace('"DEADLINE"', '"OFFLINE"'), time.monotonic() - began
            require(took <= interferers.PATIENCE * rest["deadline"] / 1000, f"{command} took {took:.1f} s")
        return json.loads(line)

    def value(self, *call, **rest):
        require("value" in (answer := self.ask(*call, **rest)), f"{call}: {answer}")
        return answer["value"]

    def new(self):
        """The name of a client with empty storage."""
        self.count += 1
        return f"client-{self.count}"

    def end(self):
        self.process.stdin.close()
        # Removes the folders of thousands of clients.
        self.process.wait(timeout=300)


class Site(rig.Rig):
    """A daemon, and its answers without a proxy."""

    def item(self, id):
        return self.ask("GET", f"/api/notifications/{id}")

    def inbox(self):
        # Within a second the list has the order of the posts.
        return sorted(self.ask("GET", "/api/notifications?limit=500")["Notifications"], key=lambda item: item["CreatedAt"])

    def devices(self):
        return [device["Id"] for device in self.ask("GET", "/api/register") if not device.get("RetiredAt")]

    def keys(self):
        return [key["x"] for key in self.ask("GET", "/.well-known/sealpost-keys")["keys"]]


def outcome(phone, site, call, client, keys, id, may_ask=True, **rest):
    """The outcome of a call: fresh, wrong, cached, or the kind of an interference."""
    answer = phone.ask(client, call, keys, id=id, **rest)
    if "kind" in answer and "value" not in answer:
        return answer["kind"]
    if answer.get("reason") == "OFFLINE" and "value" not in answer:
        return interferers.OFFLINE
    if "reason" in answer:
        return f"failed: {answer}"
    if "cached" in answer:
        return "cached"
    if not may_ask:
        return "wrong"
    if call == "register":
        return "fresh" if answer["value"] in site.devices() else "wrong"
    wanted = site.inbox() if call == "sync" else [id] if call == "markAllRead" else site.item(id)
    return "fresh" if bare(answer["value"]) == bare(wanted) else "wrong"


def bare(value):
    """Without members that no client reads."""
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if name in ("Id", "Payload", "Read", "CreatedAt", "ExpiresAt")}
    return [bare(element) for element in value] if isinstance(value, list) else value


def visit(options, phone, interferer, signed, failures):
    """Tests one proxy and one kind of client with its own daemon, like `ProxyInterferenceTests.swift`."""
    def expect(found, wanted, what):
        if found != wanted:
            failures.append(f"{interferer.name}, {'signed' if signed else 'unsigned'}, {what}: {found}, not {wanted}")

    with Site(options.sealpost, SERVER_TRUSTEDPROXIES="[127.0.0.1]") as site:
        daemon, _ = site.serve()
        processes.drain(daemon)
        id = site.ask("POST", "/api/notifications", interferer.payload)["Id"]
        site.ask("PATCH", f"/api/notifications/{id}", {"Read": True})
        chain = interferers.Chain(site)
        chain.replace(["haproxy"])
        front = phone.front(chain.port)
        old = phone.new()
        keys = site.keys() if signed else []
        phone.sign_in(keys)
        expect(phone.ask(old, "notification", keys, id=id).get("value", {}).get("Id"), id, "the first fetch")
        cached = phone.ask(old, "sync", keys).get("value")
        cached_item = phone.ask(old, "notification", keys, id=id).get("value")

        chain.replace(interferer.files, interferer.how)
        if interferer.is_cache:
            # Fetches come last: a cache evicts a resource that a request through it changes (RFC 9111 section 4.4).
            for call in reversed(interferers.CALLS):
                expect(outcome(phone, site, call, phone.new(), keys, id), "fresh", f"the first {call}")
            phone.ask(old, "sync", keys)
        site.ask("PATCH", f"/api/notifications/{id}", {"Read": False})
        site.ask("POST", "/api/notifications", "a second secret")
        if interferer.needs_no_daemon:
            processes.end(daemon, 60)
            # The next daemon's listener must not keep the proxy waiting.
            site.socket.close()
        rest = {"deadline": interferer.deadline * 1000} if interferer.deadline else {}
        if isinstance(interferer.finding("notification", signed), set):
            shown = phone.ask(old, "notification", keys, id=id, **rest)
            expect((shown.get("value"), "cached" in shown), (cached_item, True), "the cached notification")
        if isinstance(interferer.finding("sync", signed), set):
            shown = phone.ask(old, "sync", keys, **rest)
            if interferer.is_cache and "cached" not in shown:
                # HAProxy and Squid let conditions pass, and keep no 304.
                expect(bare(shown.get("value")), bare(site.inbox()), "the inbox past a cache")
            else:
                expect((shown.get("value"), "cached" in shown), (cached, True), "the cached inbox")
        findings = {}
        for call in interferers.CALLS:
            finding = interferer.finding(call, signed)
            found = outcome(phone, site, call, phone.new(), keys, id, may_ask=not interferer.needs_no_daemon, **rest)
            wanted = {interferers.TRUTH: {"fresh"}, interferers.BELIEF: {"wrong"}}.get(finding) if isinstance(finding, str) else finding
            findings[call] = found
            expect(found, found if found in wanted else wanted, call)
        print(f"{'signed  ' if signed else 'unsigned'}  {interferer.name:44}", " ".join(findings.values()), flush=True)
        front.close()
        chain.stop()
    return list(findings.values())


def certificates_and_outbox(options, phone):
    """TLS without a proxy: untrusted certificates, and requests that must happen once."""
    with Site(options.sealpost) as site:
        daemon, _ = site.serve()
        processes.drain(daemon)
        id = site.ask("POST", "/api/notifications", "a secret text")["Id"]
        front = phone.front(site.port)
        keys = site.keys()
        pin = processes.run(
            "sh", "-c", f"openssl x509 -in {phone.certificate} -pubkey -noout | openssl pkey -pubin -outform der"
            " | openssl dgst -sha256 -binary | base64",
        ).strip()
        for rest, wanted in (({"distrusts": True}, "untrustedKey"), ({"pin": "A" * 43 + "="}, "untrustedKey"), ({"pin": pin}, None)):
            found = phone.ask(phone.new(), "notification", keys, id=id, **rest).get("kind")
            require(found == wanted, f"{rest}: {found}, not {wanted}")
        client = phone.new()
        phone.ask(client, "sync", keys)
        phone.ask(client, "later", keys, id=id, payload="sent later")
        inbox = sorted((item["Payload"], item["Read"]) for item in phone.value(client, "sync", keys))
        require(inbox == [("a secret text", True), ("sent later", False)], f"the outbox left {inbox}")
        require(not phone.value(client, "unread", keys, id=id)["Read"] and not site.item(id)["Read"], "it is still read")
        phone.ask(client, "dismiss", keys, id=id)
        read_once(phone, site, client, keys)
        phone.ask(client, "register", keys)
        require([item["Payload"] for item in site.inbox()] == ["sent later"] and len(site.devices()) == 1, "neither dismissed nor registered")
        require(phone.value(client, "signOut", keys), "the server does not know of the sign-out")
        require(not site.devices(), "signed out, and still registered")
        require(phone.ask(client, "sync", keys).get("reason") == "SIGNED_OUT", "signed out, and still in")
        code_and_topic(site, phone, keys)
        front.close()


def code_and_topic(site, phone, keys):
    """A user without a password signs in with a code, and the device joins a topic."""
    site.call("user", "add", "dora", "--no-password")
    code = re.search(r"[A-Z0-9]+(-[A-Z0-9]+)+|[A-Z0-9]{25}", site.call("user", "code", "dora"))[0]
    client = phone.new()
    dora = {"user": "dora", "stored": True}
    require((refused := phone.ask(client, "enrol", keys, code="A" * 25, **dora)).get("reason") == "PROBLEM", f"a wrong code: {refused}")
    require(phone.ask(client, "enrol", keys, code=code, **dora).get("value"), "the code does not sign in")
    require(phone.ask(client, "sync", keys).get("value") == [], "the stored token does not sign in")
    id = phone.value(client, "register", keys)
    phone.ask(client, "join", keys)
    require((devices := phone.ask(client, "devices", keys).get("value")) == [f"{id} [news, username:dora]"], f"the devices: {devices}")
    phone.ask(client, "signOut", keys)


def read_once(phone, site, client, keys):
    """The worker's notification contains no payload; the app fetches it when opened."""
    id = site.ask("POST", "/api/notifications", {"Payload": "for one reading", "ReadOnce": True})["Id"]
    for _ in range(2):
        shown = phone.value(client, "preview", keys, id=id)
        require("Payload" not in shown and shown.get("ReadOnce"), f"the worker shows {shown}")
    require((read := phone.value(client, "notification", keys, id=id).get("Payload")) == "for one reading", f"its reader finds {read}")
    phone.ask(client, "taken", keys, id=id)
    require(phone.value(client, "preview", keys, id=id) is None, "it was taken, and is still shown")


def run(options):
    processes.run(ROOT / "scripts/android-client", "build")
    failures, found = [], []
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder:
        phone = Phone(pathlib.Path(folder))
        certificates_and_outbox(options, phone)
        for interferer, signed in itertools.product(interferers.ALL, (True, False)):
            if options.only and options.only not in interferer.name:
                continue
            outcomes = visit(options, phone, interferer, signed, failures)
            if signed and "wrong" in outcomes:
                failures.append(f"{interferer.name}: a wrong answer was accepted")
            found += outcomes
        phone.end()
    require(not failures, "\n".join(failures))
    named = sum(outcome not in ("fresh", "wrong") for outcome in found)
    print(f"{len(found)} calls: {named} interferences named, {found.count('fresh')} truths, {found.count('wrong')} believed"
          " for want of a signature, none of them with one")
