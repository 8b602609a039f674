"""Tests the client for browsers, `Clients/web`, and the sample page in Chromium, behind all harmful proxies.

Daemon and browser are real; pages come over TLS, and the DevTools protocol delivers pushes to the service worker. The page, its
notifications and its storage may have only what was sent, and each interference must get its name. Without a network the page
shows its content with its age, and remembers actions and the sign-out. The browser's databases may have no readable payload or
token. Messages for Safari, accounts that share a subscription, tabs that share a stream, killed workers, and changes of the key
or the permission have their own flows. The rules of `screen` judge each page.
"""

import base64
import collections
import contextlib
import json
import re
import shutil
import socket

from sealpost_e2e import api, chromium, interferers, listening, processes, receiver, require, rig, tls
from sealpost_e2e.screen import THEMES, Screen

SIZES = {"phone": (390, 844), "desk": (1000, 760)}
SECRET = "a secret text"
FORGERIES = ("forged text", "invented", "Welcome", "Advertisement")  # The content that the proxies of the matrix forge.
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "webmanifest": "application/manifest+json"}
PLACEHOLDER = "New message. Open to read."
APPLE = "web.push.apple.com"  # The push service of Safari, whose messages have a placeholder.


class Front(listening.Listener):
    """An origin over TLS: files of a folder, and the API, whose bytes it forwards unchanged."""

    def __init__(self, context, folder=None):
        self.context, self.folder = context, folder
        # The API's port; with None the connection is closed, as on a bad network. `isUp` is for the whole origin.
        self.upstream, self.isUp = None, True
        self.asked = []  # The paths of requests to the API.
        self.token = None  # Gives the token that the app's own backend returns for `/push-token`.
        super().__init__()

    def serve(self, connection):
        """Serves one request of a connection. A truncated answer stays truncated."""
        with contextlib.suppress(OSError, ValueError):  # The browser, or a proxy, has gone.
            if not self.isUp:
                return connection.close()
            with self.context.wrap_socket(connection, server_side=True) as secure:
                head, body = self.read(secure)
                path = head.split(b" ", 2)[1].decode().split("?")[0]
                if self.token and path == "/push-token":
                    answer = json.dumps({"Token": self.token(), "ExpiresAt": None}).encode()
                    return secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(answer), answer))
                if self.folder and not path.startswith(("/api/", "/.well-known/", "/healthz")):
                    return secure.sendall(self.file(path))
                self.asked.append(path)
                if self.upstream is None:
                    return
                with socket.create_connection(self.upstream, timeout=60) as upstream:
                    upstream.sendall(head + body)
                    while piece := upstream.recv(65536):
                        secure.sendall(piece)

    def read(self, secure):
        """A request's head, with the connection's end requested, and its body."""
        head, _, body = listening.receive_until(secure, b"\r\n\r\n").partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += secure.recv(65536)
        return b"\r\n".join([*lines, b"Connection: close", b"", b""]), body

    def file(self, path):
        path = self.folder / (path + "index.html" if path.endswith("/") else path).lstrip("/")
        if not path.is_file():
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        body = path.read_bytes()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {TYPES[path.suffix[1:]]}\r\nContent-Length: {len(body)}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n"
        return head.encode() + body


class Tunnel(listening.Forwarder):
    """The operator's proxy, which leads to the replaced push service whatever name the server wants."""

    def serve(self, connection):
        listening.receive_until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        super().serve(connection)


class Site(rig.Rig):
    """A daemon with senders for browsers and streams, the sample page on its own origin, and proxies between them."""

    def __init__(self, sealpost):
        super().__init__(sealpost)
        for name in ("anna", "carl", "dora"):
            self.add_user(name)
        self.chain = interferers.Chain(self)
        certificate, key = tls.make_certificate(self.folder, APPLE)
        context = tls.serving(certificate, key)
        self.page = Front(context, self.copy_page())
        self.other = Front(context)  # The API on another origin, for pages of other origins.
        self.origin = f"https://app.example:{self.page.port}"
        names = ("first", "shared", "tabs", "changes")
        self.first, self.shared, self.tabs, self.changes = (f"https://{name}.example:{self.page.port}" for name in names)
        self.page.token = lambda: self.token
        # Replaces a browser's push service where a push must really arrive; it accepts every push.
        self.service = receiver.Receiver(certificate, key, lambda *_: b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        service, tunnel = f"localhost:{self.service.port}", Tunnel(self.service.port)
        self.configuration.write_text(
            f'server: {{allowedOrigins: ["{self.origin}"]}}\nstream: {{heartbeat: 1}}\n'
            f'proxy: {{url: "http://127.0.0.1:{tunnel.port}", deviceHosts: true}}\n'
            'senders:\n  stream: {type: stream}\n  webpush: {type: webpush, subject: "mailto:ops@example.com", allowPrivateAddresses: true, '
            f'caFile: "{certificate}", allowedHosts: ["updates.push.services.mozilla.com", "*.push.apple.com", "{service}"], '
            f'placeholder: {{page: "{self.changes}/#m{{id}}", title: Clinic}}}}\n'
        )
        self.direct()

    def copy_page(self):
        """The page as apps have it: `examples/web`, and the client in a folder."""
        folder = self.folder / "page"
        shutil.copytree(rig.ROOT / "examples/web", folder)
        (folder / "sealpost").mkdir()
        # The first launch in docs/web.md needs this page.
        first = folder / "first"
        first.mkdir()
        for place in (folder / "sealpost", first):
            for name in ("sealpost.js", "sealpost-worker.js"):
                shutil.copy(rig.ROOT / "Clients/web" / name, place)
            with (place / "sealpost-worker.js").open("a") as worker:
                worker.write(WORD)
        # The sample page's own policy forbids other origins.
        (folder / "plain.html").write_text('<!doctype html><html lang="en"><title>Plain</title><body>Plain</body></html>')
        return folder

    def serve(self):
        self.daemon, _ = super().serve()
        connection = self.connect()
        self.keys = [key["x"] for key in api.ask(connection, "GET", "/.well-known/sealpost-keys")["keys"]]
        self.signatures, self.token = {"keys": self.keys}, api.sign_in(connection, "alice").removeprefix("Bearer ")
        settings = {"title": "Clinic", "signatures": self.signatures}
        (self.folder / "page/settings.js").write_text(f"export default {json.dumps(settings)};\n")
        page, script = re.search(r"<!-- first launch -->\n```html\n(.*?)```.*?```js\n(.*?)```", (rig.ROOT / "docs/web.md").read_text(), re.S).groups()
        lines = [line for line in script.splitlines() if line.strip()]
        require(len(lines) <= 20, f"the first launch in docs/web.md has {len(lines)} lines")
        (self.folder / "page/first/index.html").write_text(f'<!doctype html><html lang="en"><title>First</title>{page}')
        (self.folder / "page/first/app.js").write_text(script.replace('["PASTE THE KEY HERE"]', json.dumps(self.keys)))

    def script(self, body, **more):
        """JavaScript for a page, which the client's names and some constants precede."""
        service = f"https://localhost:{self.service.port}/push/"
        names = {"service": service, "users": USERS, "signatures": self.signatures, "password": api.PASSWORD, "token": self.token} | more
        constants = "".join(f"const {name} = {json.dumps(value)};" for name, value in names.items())
        return "(async () => { const {PushClient, IndexedStore} = await import('/sealpost/sealpost.js');" + f"{constants}{body}}})()"

    def restart(self, change):
        """Starts the daemon again, with a change in between."""
        processes.terminate(self.daemon)
        change()
        self.serve()

    def direct(self):
        """Removes the proxies."""
        self.chain.stop()
        self.set_upstream(("127.0.0.1", self.port))

    def set_upstream(self, address):
        self.page.upstream = self.other.upstream = address

    def interpose(self, files, how, upstream=None):
        """Inserts proxies, beginning at the browser; the last one asks the daemon, or `upstream`."""
        self.chain.replace(files, how, upstream)
        self.set_upstream(("127.0.0.1", self.chain.port))


# Follows the worker's own code, and tells the page when a notification is shown. Polling the browser would not work: it
# loses a notification if a script lists them while it is about to show that one.
WORD = """
const showing = ServiceWorkerRegistration.prototype.showNotification;
ServiceWorkerRegistration.prototype.showNotification = async function (...given) {
    await showing.apply(this, given);
    new BroadcastChannel('shown').postMessage(null);
};
"""
HEARING = "globalThis.wordsHeard = 0; new BroadcastChannel('shown').onmessage = () => { wordsHeard += 1 };"

# A headless browser has no push service, so only its subscription is invented. `opened` decrypts a push (RFC 8291).
SUBSCRIPTION = """
const bytes = (text) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
PushManager.prototype.getSubscription = async function () { return globalThis.subscription ?? null };
PushManager.prototype.subscribe = async function ({applicationServerKey}) {
    const pair = await crypto.subtle.generateKey({name: 'ECDH', namedCurve: 'P-256'}, true, ['deriveBits']);
    const point = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
    const text = data => bytes(btoa(String.fromCharCode(...data)));
    const binary = atob(applicationServerKey.replaceAll('-', '+').replaceAll('_', '/'));
    const auth = crypto.getRandomValues(new Uint8Array(16)), service = globalThis.pushService ?? 'https://updates.push.services.mozilla.com/wpush/v2/';
    const json = {endpoint: service + crypto.randomUUID(), expirationTime: null, keys: {p256dh: text(point), auth: text(auth)}};
    globalThis.receiver = {pair, point, auth};
    return globalThis.subscription = {...json, toJSON: () => json, unsubscribe: async () => { globalThis.subscription = null; return true },
        options: {applicationServerKey: Uint8Array.from(binary, character => character.charCodeAt(0)).buffer}};
};
globalThis.opened = async base64 => {
    const bytes = text => new TextEncoder().encode(text), {subtle} = crypto, {pair, point, auth} = receiver;
    const data = Uint8Array.from(atob(base64), character => character.charCodeAt(0)), salt = data.subarray(0, 16);
    const sender = data.subarray(21, 21 + data[20]), sealed = data.subarray(21 + data[20]);
    const derived = async (salt, secret, info, bits) => new Uint8Array(await subtle.deriveBits(
        {name: 'HKDF', hash: 'SHA-256', salt, info}, await subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']), bits));
    const other = await subtle.importKey('raw', sender, {name: 'ECDH', namedCurve: 'P-256'}, false, []);
    const secret = await subtle.deriveBits({name: 'ECDH', public: other}, pair.privateKey, 256);
    const seed = await derived(auth, secret, new Uint8Array([...bytes('WebPush: info\\0'), ...point, ...sender]), 256);
    const key = await subtle.importKey('raw', await derived(salt, seed, bytes('Content-Encoding: aes128gcm\\0'), 128), 'AES-GCM', false, ['decrypt']);
    const iv = await derived(salt, seed, bytes('Content-Encoding: nonce\\0'), 96);
    return new TextDecoder().decode(await subtle.decrypt({name: 'AES-GCM', iv}, key, sealed)).replace(/\\x02\\0*$/, '');
};
"""


class Visitor(Screen):
    """The sample page in a tab, in a size and a theme."""

    def __init__(self, browser, site, size="phone", theme="light", origin=None, path=None):
        self.site, self.origin, self.registration, self.errors = site, origin or site.origin, None, []
        browser.watchers.append(self.watch)
        super().__init__(browser, SIZES[size], "Runtime", "Log", "ServiceWorker", **{"color-scheme": theme})
        self.call("Page.addScriptToEvaluateOnNewDocument", source=SUBSCRIPTION + HEARING)
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        if path:
            self.open(path)

    def watch(self, session, method, parameters):
        if session != getattr(self, "session", None):
            return
        if method == "ServiceWorker.workerRegistrationUpdated":
            for registration in parameters["registrations"]:
                if not registration["isDeleted"] and registration["scopeURL"].startswith(self.origin):
                    self.registration = registration["registrationId"]
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.errors.append(json.dumps(parameters["args"])[:600])

    def open(self, path="/"):
        self.navigate(self.origin + path)

    def shown_text(self):
        return f"{self.ask('document.body.innerText')!r}, {self.errors}"

    def click(self, label):
        script = f"[...document.querySelectorAll('button')].find(button => button.checkVisibility() && button.textContent === {json.dumps(label)})"
        self.until(f"Boolean({script})", f"the button {label!r}")
        self.ask(f"{script}.click()")

    def sign_in(self, name="alice"):
        self.has("Sign in")
        self.ask(f"document.getElementById('name').value = {json.dumps(name)}; document.getElementById('password').value = {json.dumps(api.PASSWORD)}")
        self.ask("document.querySelector('#sign-in button').click()")

    def push(self, id, data=None):
        """Delivers a push to the worker, and waits for its notification. Returns its texts."""
        before, heard = self.shown(), self.ask("wordsHeard")
        self.call(
            "ServiceWorker.deliverPushMessage", origin=self.origin, registrationId=self.registration,
            data=json.dumps({"secureId": str(id)}) if data is None else data,
        )
        # The timeouts of the worker's two calls, and the time of its start.
        self.until(f"wordsHeard > {heard}", "the worker's word that it has shown a push", 60)
        now = self.shown()
        new = [one for one in now if one not in before]
        require(len(new) == 1, f"for a push the worker shows {now}, after {before}")
        return new[0]

    def shown(self):
        """The shown notifications: title, body, tag."""
        return self.ask(
            "navigator.serviceWorker.ready.then(ready => ready.getNotifications())"
            ".then(all => all.map(({title, body, tag}) => ({title, body, tag})))"
        )

    def clear(self):
        self.ask("navigator.serviceWorker.ready.then(ready => ready.getNotifications()).then(all => all.forEach(one => one.close()))")
        self.until("navigator.serviceWorker.ready.then(ready => ready.getNotifications()).then(all => all.length === 0)", "an end of notifications")

    def close(self):
        require(not self.errors, f"errors on the page: {self.errors}")
        self.browser.watchers.remove(self.watch)
        super().close()


def first_launch(visitor, site):
    """Signs in, sees the inbox, enables notifications, and gets a push."""
    id = site.post({"Payload": SECRET})
    visitor.do("open", "sign_in", f"has {SECRET}", "has Up to date")
    # Over the event stream, until notifications are enabled.
    processes.wait_until(lambda: '"stream"' in json.dumps(site.ask("GET", "/api/register")), 20, "a stream's registration")
    site.post({"Payload": "before any push"})
    visitor.do("has before any push", "click Turn on notifications")
    visitor.until("document.getElementById('offer').hidden", "a registration")
    devices = site.ask("GET", "/api/register")
    require("webpush" in json.dumps(devices), f"the browser is not registered: {devices}")
    processes.wait_until(lambda: '"stream"' not in json.dumps(site.ask("GET", "/api/register")), 20, "the end of the stream's registration")
    processes.wait_until(lambda: visitor.registration is not None, 20, "the worker's registration")
    second = site.post({"Payload": "your result is there"})
    found = visitor.push(second)
    require((found["body"], found["title"]) == ("your result is there", "Clinic"), f"the worker shows {found}")
    # The page has it from the worker, without a request.
    visitor.do("has your result is there", "has 3 new")
    return id


def launch_as_written(browser, site):
    """The first launch in docs/web.md, on its own page: from signing in to a pushed message."""
    visitor = Visitor(browser, site, origin=site.first)
    id = site.post({"Payload": "by the guide"})
    visitor.do("open /first/", "has Sign in")
    visitor.ask(f"document.querySelector('form').user.value = 'alice'; document.querySelector('form').password.value = {json.dumps(api.PASSWORD)}")
    visitor.do("click Sign in", "has by the guide", "click Notify me")
    processes.wait_until(lambda: visitor.registration is not None, 20, "the worker's registration")
    visitor.until("import('/first/sealpost.js').then(({PushClient}) => PushClient.reopen()).then(push => push.registrationID())", "a registration")
    second = site.post({"Payload": "and pushed"})
    require((found := visitor.push(second))["body"] == "and pushed", f"the first launch's worker shows {found}")
    visitor.has("and pushed")
    for each in (id, second):
        site.ask("DELETE", f"/api/notifications/{each}")
    visitor.close()


# Two accounts on one page, as in `docs/web.md`.
ACCOUNTS = """
    [globalThis.pushService, globalThis.accounts] = [service, {}];
    for (const [name, user] of Object.entries(users)) {
        accounts[name] = await PushClient.open({name, isDeviceShared: true, signatures, title: name, worker: '/worker.js'});
        await accounts[name].signIn(user, password);
        await accounts[name].register();
    }
    return Promise.all(Object.values(accounts).map(push => push.registrationID()));
"""
USERS = {"private": "alice", "practice": "anna"}


def share_a_browser(browser, site):
    """Two accounts, one subscription: each push reaches only its own account."""
    visitor = Visitor(browser, site, origin=site.shared, path="/plain.html")
    registrations = visitor.ask(site.script(ACCOUNTS))
    endpoint = visitor.ask("subscription.endpoint")
    require(len(set(registrations)) == 2, f"two accounts are registered as {registrations}")
    processes.wait_until(lambda: visitor.registration is not None, 20, "the worker's registration")
    sent = {name: [] for name in USERS}
    for number, name in enumerate(["private", "practice", "practice", "private", "private", "practice"]):
        text = f"number {number} for {name}"
        message = posted(visitor, site, name, text)
        require("accountHint" in message, f"a push to a shared subscription has no hint: {message}")
        found = visitor.push(None, data=message)
        require((found["title"], found["body"]) == (name, text) and name in found["tag"].split(), f"of a push for {name} the worker shows {found}")
        sent[name].append(text)
        check_inboxes(visitor, sent)
    # A hint for neither: an account that another user has registered.
    strange = json.loads(message) | {"accountHint": "AAAAAAAAAAA"}
    before = fetches(site)
    found = visitor.push(None, data=json.dumps(strange))
    if found["body"] != PLACEHOLDER or found["title"] in USERS or fetches(site) != before:
        raise SystemExit(f"of a push for nobody here the worker shows {found}, after {fetches(site) - before} fetches")
    # The account that signs out leaves the subscription to the other.
    visitor.ask("accounts.private.signOut()")
    visitor.clear()
    count = len(site.service.requests)
    site.post({"Payload": "to nobody"})
    text = "to who is left"
    found = visitor.push(None, data=posted(visitor, site, "practice", text))
    require((found["title"], found["body"]) == ("practice", text), f"after the other has signed out, the worker shows {found}")
    require(len(site.service.requests) == count + 1, f"{len(site.service.requests) - count} pushes went to the subscription, not one")
    require(endpoint == visitor.ask("globalThis.subscription?.endpoint ?? null"), "the sign-out of one account has ended the subscription")
    sent["practice"].append(text)
    check_inboxes(visitor, {"practice": sent["practice"]})
    visitor.close()
    return sum(map(len, sent.values()))


# A client whose stored token has ended, and a worker for it.
RENEWING = """
    const push = await PushClient.open({signatures, title: 'Clinic', worker: '/worker.js', token: '/push-token'});
    await push.useToken('spt_ended', {account: 'alice'});
    await push.startWorker();
    push.close();
"""
LISTENING = """
    const push = await PushClient.open({signatures, token: '/push-token'});
    window.heard = [];
    (async () => { for await (const {item} of push.events()) heard.push(item?.payload) })();
"""
TABS = 7


def use_tabs(browser, site):
    """A killed worker renews the token; then seven tabs share one event stream."""
    visitor = Visitor(browser, site, origin=site.tabs, path="/plain.html")
    visitor.ask(site.script(RENEWING))
    processes.wait_until(lambda: visitor.registration is not None, 20, "the worker's registration")
    for text in ("with a renewed token", "and by a killed worker"):
        require((found := visitor.push(site.post({"Payload": text})))["body"] == text, f"a worker whose token has ended shows {found}")
        visitor.call("ServiceWorker.stopAllWorkers")
    tabs = [browser.open(site.tabs + "/plain.html") for _ in range(TABS)]
    streams = site.page.asked.count("/api/stream")
    for tab in tabs:
        tab.evaluate(site.script(LISTENING))
    processes.wait_until(lambda: site.page.asked.count("/api/stream") > streams, 20, "a stream")
    for listening, count in ((tabs, 1), (tabs[-1:], 2)):
        site.post({"Payload": f"to {len(listening)} tabs"})
        for tab in listening:
            processes.wait_until(lambda tab=tab: tab.evaluate(f"heard.includes('to {len(listening)} tabs')"), 20, "an event in each tab")
        require((found := site.page.asked.count("/api/stream") - streams) == count, f"{len(listening)} tabs have opened {found} streams")
        for tab in tabs[-2::-1]:  # The first tab reads the stream. A tab that is frozen while it takes over may block the database.
            tab.call("Page.setWebLifecycleState", state="frozen")
    for tab in tabs:
        tab.close()
    visitor.close()


CALLS = """
    globalThis.pushService = service;
    const push = await PushClient.open({name: 'calls', signatures, worker: '/worker.js'});
    await push.signIn('carl', password);
    const first = await push.register({tags: ['news']});
    await push.joinTopic('weather:Berlin');
    await push.leaveTopic('news');
    const own = async () => (await push.devices()).filter(({isThisDevice}) => isThisDevice).map(({topics, platform}) => [topics, platform]);
    const found = [await own(), (await push.testPush()).state];
    await push.endDevice(first);
    const second = await push.registerIfNeeded();
    found.push(first !== second, await own());
    await push.changePassword(password, 'another correct horse battery');
    found.push(await push.registerIfNeeded() !== null, await own(), (await push.sync()).isFresh);
    await push.signOut();
    push.close();
    return found;
"""


def use_calls(browser, site):
    """Topics, a test push, a device that the server has ended, and a new password."""
    visitor = Visitor(browser, site, origin=site.tabs, path="/plain.html")
    found = visitor.ask(site.script(CALLS))
    device = [[["username:carl", "weather:berlin"], "webpush"]]
    require(found == [device, "accepted", True, device, True, device, True], f"the calls have returned {found}")
    visitor.close()


LARGE = """
    globalThis.large = await PushClient.open({name: 'large', signatures, deadline: 120});
    if (!large.account) await large.signIn('dora', password);
"""


def use_large_inbox(browser, site):
    """5,000 notifications of 4 KiB. Returns the milliseconds of the calls: the processor time of the page's process."""
    visitor = Visitor(browser, site, origin=site.tabs, path="/plain.html")
    with contextlib.closing(site.connect()) as connection:
        for number in range(5000):
            api.post(connection, f"{number} {'x' * 4090}", credentials=api.basic("dora"))
    visitor.call("Performance.enable")

    def measure():
        return next(one["value"] for one in visitor.call("Performance.getMetrics")["metrics"] if one["name"] == "ProcessTime")

    def spent(call, count=1):
        script = f"(async () => {{ let found; for (let left = {count}; left > 0; left -= 1) found = await large.{call}(); return found }})()"
        before, found, after = measure(), visitor.ask(f"{script}.then(found => typeof found === 'object' ? 5000 : found)"), measure()
        require(found == 5000, f"{found} are unread, of 5,000")
        return round((after - before) * 1000 / count)

    times = []
    for first in ("sync", "cachedInbox"):
        visitor.ask(site.script(LARGE))
        # The clock of a process has steps of 10 ms.
        times += [spent(first), spent("cachedInbox", 20), spent("cachedBadge", 20)]
        visitor.ask("large.close()")
    require(all(time <= limit for time, limit in zip(times, (3000, 20, 20) * 2)), f"5,000 notifications take {times} ms")
    visitor.close()
    return times


def use_changes(browser, site):
    """The changes of key and permission in Chromium, with the messages that Safari gets."""
    # An origin without the worker of another name: the browser activates a new script up to 30 s later, once the old one is idle.
    visitor = Visitor(browser, site, origin=site.changes, path="/plain.html")

    def permit(is_allowed):
        browser.call("Browser.setPermission", origin=site.changes, permission={"name": "notifications"}, setting="granted" if is_allowed else "denied")

    def receive(text):
        count, endpoint = len(site.service.requests), visitor.ask("subscription.endpoint").encode()
        id = site.post({"Payload": text}, credentials=api.basic("anna"))
        pushes = lambda: [request for request in site.service.requests[count:] if endpoint[-36:] in request]
        processes.wait_until(pushes, 20, "a push")
        message = decrypt(visitor, pushes()[0])
        notification = json.loads(message)["notification"]
        if (notification["title"], notification["body"], notification["navigate"]) != ("Clinic", PLACEHOLDER, f"{site.changes}/#m{id}") or text in message:
            raise SystemExit(f"Safari would show {notification}")
        require((found := visitor.push(None, data=message))["body"] == text, f"of a message with a placeholder the worker shows {found}")

    change_key_and_permission(visitor.ask, site, f"https://{APPLE}/", permit, receive)
    visitor.close()


# A registered client; and its state after a change of the server's key or of the user's permission.
REGISTER = """
    window.pushService = service;
    window.push = await PushClient.open({name: 'changes', signatures, title: 'Clinic', worker: '/worker.js', deadline: 120});
    await push.signIn('anna', password);
    return push.register();
"""
AGAIN = """push.registerIfNeeded().then(async id => {
    const {pushManager} = await navigator.serviceWorker.ready, found = await pushManager.getSubscription();
    return [id, found?.endpoint ?? null, found && btoa(String.fromCharCode(...new Uint8Array(found.options.applicationServerKey)))];
})"""


def change_key_and_permission(ask, site, service, permit, receive):
    """The page notices another VAPID key, and a permission that `permit` revokes and grants. `receive` tests pushes."""
    ask(site.script(REGISTER, service=service))
    first = ask(AGAIN)
    receive("with the first key")
    site.restart(lambda: (site.folder / "var/vapid.pem").unlink())
    second = ask(AGAIN)
    if None in first + second or {one == other for one, other in zip(first[1:], second[1:])} != {False} or first[0] != second[0]:
        raise SystemExit(f"with another key the registration is {second}, after {first}")
    receive("with the second key")
    permit(False)
    refused = ask("push.register().then(String, error => error.code)"), ask("push.registerIfNeeded().then(String, error => error.code)")
    require(refused == ("denied", "denied"), f"without permission the calls return {refused}")
    permit(True)
    require(None not in (third := ask(AGAIN)), f"with permission again the registration is {third}")
    receive("with permission again")
    require(ask("push.signOut()"), "the sign-out was not confirmed")


def posted(visitor, site, name, text):
    """Sends a text to an account. Returns the push as the browser decrypts it."""
    count = len(site.service.requests)
    site.post({"Payload": text}, credentials=api.basic(USERS[name]))
    processes.wait_until(lambda: len(site.service.requests) > count, 20, f"a push for {name}")
    return decrypt(visitor, site.service.requests[count])


def decrypt(visitor, request):
    """A push as the page's browser decrypts it."""
    _, _, body = request.partition(b"\r\n\r\n")
    return visitor.ask(f"opened({json.dumps(base64.b64encode(body).decode())})")


def check_inboxes(visitor, sent):
    """Each account caches the notifications that were sent to it here, and none of another account."""
    for name, texts in sent.items():
        cached = visitor.ask(f"accounts[{json.dumps(name)}].cachedInbox().then(({{notifications}}) => notifications.map(({{payload}}) => payload))")
        others = {text for other, texts in sent.items() if other != name for text in texts}
        # A push syncs, so that older notifications are there, too.
        require(set(texts) <= set(cached) and not (others & set(cached)), f"{name} has {cached} in its cache, not {texts}")


def fetches(site):
    """The number of the browser's requests for one notification."""
    return sum(path.startswith("/api/notifications/") for path in site.page.asked)


def read_and_dismiss(visitor, site, id):
    visitor.ask(f"document.querySelector('#m{id} .quiet').click()")
    visitor.until(f"document.querySelector('#m{id}.item:not(.new)') !== null", "a read message")
    processes.wait_until(lambda: site.ask("GET", f"/api/notifications/{id}")["Read"], 20, "the mark at the server")
    gone = site.post({"Payload": "to be dismissed"})
    visitor.do("click Check now", "has to be dismissed")
    visitor.ask(f"[...document.querySelectorAll('#m{gone} .quiet')].at(-1).focus(); document.activeElement.click()")
    visitor.until(f"document.getElementById('m{gone}') === null", "the end of a dismissed message")
    visitor.until("document.activeElement.textContent === 'Dismiss'", "the focus on the next message")
    processes.wait_until(lambda: not site.ask("GET", f"/api/notifications?ids={gone}")["Notifications"], 20, "the dismissal at the server")


def read_once(visitor, site):
    """A push of a read-once payload shows a placeholder and fetches nothing; the user opens it later."""
    id = site.post({"Payload": "only once", "ReadOnce": True})
    require((found := visitor.push(id))["body"] == PLACEHOLDER, f"of a payload that may be read once, the worker shows {found}")
    visitor.do("has This message can be opened once.", "click Open once", "has only once", "click Done")
    visitor.until(f"document.getElementById('m{id}') === null", "the end of what was read once")


# A client with its own storage: its findings for the list and for one notification.
TRIAL = """
    const push = await PushClient.open({name, signatures, deadline, title: 'Clinic', ...more});
    if (!push.account) await push.useToken(token, {account: 'alice'});
    const outcome = async (call) => {
        const began = performance.now();
        try {
            const {payload, failure} = await call();
            return failure ? failure.interference?.kind ?? failure.code : payload === secret ? 'truth' : 'belief';
        } catch (error) {
            return error.interference?.kind ?? error.code ?? String(error);
        } finally {
            if (performance.now() - began > patience * 1000) throw new Error('a call took too long');
        }
    };
    const found = await Promise.all([
        outcome(async () => { const {item, failure} = await push.notification(id); return {payload: item.payload, failure} }),
        outcome(async () => {
            const {notifications, failure} = await push.sync();
            return {payload: notifications.find(one => one.id === id)?.payload, failure};
        }),
    ]);
    const cached = await push.cachedInbox();
    push.close();
    return {found, cached: JSON.stringify(cached.notifications), syncedAt: cached.syncedAt};
"""


def trial(visitor, site, name, signatures, id, more=None, text=SECRET, deadline=15):
    given = {"signatures": signatures, "id": id, "secret": text, "deadline": deadline, "patience": deadline * interferers.PATIENCE}
    return visitor.ask(site.script(TRIAL, name=name, more=more or {}, **given))


def meet_proxies(visitor, site, own):
    """Runs each chain of proxies, for clients with keys and without, with empty and filled storage; and the worker."""
    named = collections.Counter()
    for number, interferer in enumerate(interferers.ALL):
        # The browser's database has half of a deadline, so that less than 5 s would test the machine.
        what, text, deadline = interferer.name, interferer.payload, 5 if interferer.deadline else 15
        # A long notification exists for its chain only, as most proxies do not change a long list.
        id = own if text == SECRET else site.post({"Payload": text})
        for signatures, kind in (("unsigned", "echo"), (site.signatures, "signatures")):
            wanted = [interferer.finding(call, kind == "signatures") for call in interferers.FETCHES]
            keeper = f"keeper {number} {kind}"
            first = trial(visitor, site, keeper, signatures, id, text=text)
            require(first["found"] == ["truth", "truth"], f"without a proxy: {first}")
            # Its end removes the daemon for the proxy alone.
            gate = listening.Forwarder(site.port) if interferer.needs_no_daemon else None
            site.interpose(interferer.files, interferer.how, gate.port if gate else None)
            if interferer.is_cache:
                # The first request fills a cache.
                trial(visitor, site, f"filler {number} {kind}", signatures, id, text=text)
            if gate:
                gate.close()
            result = trial(visitor, site, f"trial {number} {kind}", signatures, id, text=text, deadline=deadline)
            if not all(found in (due if isinstance(due, set) else {due}) for found, due in zip(result["found"], wanted)):
                raise SystemExit(f"{what}, {kind}: {result['found']}, not {wanted}")
            named.update(result["found"])
            if kind == "signatures":
                # A client with the true content shows it with its date, whatever the proxy does.
                again = trial(visitor, site, keeper, signatures, id, text=text, deadline=deadline)
                if text not in again["cached"] or any(forgery in again["cached"] + result["cached"] for forgery in FORGERIES):
                    raise SystemExit(f"{what}, {kind}: the cache has {again['cached']}, {result['cached']}")
                require("belief" not in again["found"] + result["found"], f"{what}, {kind}: a wrong payload was accepted")
                # The worker's own deadline is 20 s, so that one endless answer is enough.
                if not interferer.deadline or interferer.how == "silence":
                    push_through(visitor, site, id, wanted, what, text)
            print(f"{kind:10}  {what:44}", *result["found"], flush=True)
            site.direct()
        if id != own:
            site.ask("DELETE", f"/api/notifications/{id}")
    return named


def push_through(visitor, site, id, wanted, what, text):
    """The worker behind the proxies, with pinned keys: it shows the payload or the placeholder, and nothing else."""
    visitor.clear()
    found = visitor.push(id)
    # A cache may have nothing for this address yet.
    due = {text} if wanted[0] == interferers.TRUTH else {text, PLACEHOLDER} if wanted[0] == {"wrongEcho"} else {PLACEHOLDER}
    require(found["body"] in due and found["title"] == "Clinic", f"{what}: the worker shows {found}")


def cross_origins(visitor, site, id):
    """A page with its API on another origin: the same results, and names for what the browser withholds."""
    visitor.open("/plain.html")
    more = {"server": f"https://push.example:{site.other.port}"}
    for number, signatures in enumerate(("unsigned", site.signatures)):
        found = trial(visitor, site, f"cross {number}", signatures, id, more)["found"]
        require(found == ["truth", "truth"], f"from another origin: {found}")
    for files, wanted in ((["nginx-portal.conf"], "missingEcho"), (["haproxy-meddle.cfg"], "signature"), (["haproxy-meddle.cfg cut"], "truncated")):
        file, _, how = files[0].partition(" ")
        site.interpose([file], how or "rewrite")
        found = trial(visitor, site, f"cross {file} {how}", site.signatures, id, more)["found"]
        require(found == [wanted, wanted], f"from another origin, {file} {how}: {found}, not {wanted}")
    site.direct()
    site.set_upstream(None)
    found = trial(visitor, site, "cross down", site.signatures, id, more)["found"]
    site.direct()
    require(found == ["offline", "offline"], f"from another origin, without an answer: {found}")
    visitor.open()


def try_store(ask, site):
    """The browser's database: of two commits on one revision it refuses the second, which writes nothing."""
    found = ask(site.script("""
        const [one, other] = [await IndexedStore.open('trial of the store'), await IndexedStore.open('trial of the store')];
        const {revision, ...head} = await one.head();
        const results = await Promise.all([one.commit(revision, new Map([['a', 1]]), head), other.commit(revision, new Map([['a', 2]]), head)]);
        return [results, await other.get('a'), (await other.head()).revision - revision, [...(await one.list('a')).keys()]];
    """))
    require(found == [[True, False], 1, 1, ["a"]], f"two commits at once: {found}")
    # The browser closes the connection behind the client's back, as WebKit does with pages in the background.
    found = ask(site.script("""
        const opened = [], opening = IDBFactory.prototype.open;
        IDBFactory.prototype.open = function (...given) {
            const request = opening.apply(this, given);
            request.addEventListener('success', () => opened.push(request.result));
            return request;
        };
        const store = await IndexedStore.open('trial of the store');
        opened.forEach(database => database.close());
        const value = await store.get('a');
        IDBFactory.prototype.open = opening;
        store.close();
        return [value, opened.length];
    """))
    require(found == [1, 2], f"after the browser has closed the connection: {found}")


def go_offline(visitor, site, id):
    """Without a network the page shows its content with a date, and repeats actions later."""
    site.page.isUp = False
    late = site.post({"Payload": "while you were away"})
    visitor.do("open", f"has {SECRET}", "has There is no connection.", "has As of ")
    visitor.ask(f"document.querySelector('#m{id} .quiet').click()")
    visitor.until(f"document.querySelector('#m{id}.item.new') !== null", "a message that is new again")
    require(site.ask("GET", f"/api/notifications/{id}")["Read"], "the server knows of what was done without a network")
    visitor.clear()
    require((found := visitor.push(late))["body"] == PLACEHOLDER, f"without a network the worker shows {found}")
    # Reads the earlier marks, and takes them to the network.
    visitor.open()
    visitor.until(f"document.querySelector('#m{id}.item.new') !== null", "what was done, after a reload")
    site.page.isUp = True
    visitor.do("click Check now", "has while you were away", "has Up to date")
    processes.wait_until(lambda: not site.ask("GET", f"/api/notifications/{id}")["Read"], 20, "what was done, at the server")


# The names of all rows of the page's database.
ROWS = """new Promise(done => {
    const opening = indexedDB.open('sealpost');
    opening.onsuccess = () => {
        opening.result.transaction('rows').objectStore('rows').getAllKeys().onsuccess = event => { opening.result.close(); done(event.target.result) };
    };
})"""


def sign_out(visitor, site):
    """Signs out without a network: the page erases everything now, and the server when it is reachable."""
    device = visitor.ask(site.script("const push = await PushClient.reopen(), id = await push.registrationID(); push.close(); return id;"))

    def is_registered():
        return device in json.dumps([one for one in site.ask("GET", "/api/register") if not one.get("RetiredAt")])

    require(device and is_registered(), "the page's device is not registered")
    site.page.isUp = False
    visitor.do("click Sign out", "has Password")
    require(SECRET not in visitor.ask("document.body.textContent"), "a message is still on the page")
    require(not (left := visitor.shown()), f"after signing out, these notifications are shown: {left}")
    rows = visitor.ask(ROWS)
    if left := [name for name in rows if name.startswith(("entries/", "payload/", "cursor", "session", "registration", "outbox/"))]:
        raise SystemExit(f"after signing out, these are left: {left}")
    require(any(name.startswith("ending/") for name in rows), f"the sign-out is forgotten: {rows}")
    require(is_registered(), "the device has ended without a network")
    site.page.isUp = True
    visitor.open()
    processes.wait_until(lambda: not is_registered(), 20, "the end of the device")
    visitor.until(f"{ROWS}.then(rows => !rows.some(name => name.startsWith('ending/')))", "the end of the sign-out")
    require((found := visitor.push(1))["body"] == PLACEHOLDER, f"signed out, the worker shows {found}")


def search_profile(profile):
    """Searches all databases of the browser, but for its shown notifications, for unencrypted secrets."""
    searched = 0
    for path in profile.rglob("*"):
        if not path.is_file() or not {"IndexedDB", "Local Storage", "Session Storage", "CacheStorage"} & set(path.parts):
            continue
        content = path.read_bytes()
        searched += len(content)
        for secret in (SECRET, "your result is there"):
            require(secret.encode() not in content and secret.encode("utf-16-le") not in content, f"{secret!r} is unsealed in {path.name}")
        # The client's own sources contain only a token's prefix.
        require(not re.search(rb"spt_\w{20}|s\0p\0t\0_\0(?:\w\0){20}", content), f"a token is unsealed in {path.name}")
    require(searched >= 10_000, "the browser's databases are empty, so that nothing was searched")
    return searched


def look(browser, site):
    """Judges each state in each size and theme. Returns the least contrast."""
    least, messages = 21, ("Your result is in. Please call us to talk it over.", "Tuesday, 24 November, 9:30, Dr Frank", "Your prescription is ready.")
    anna = {"credentials": api.basic("anna")}
    ids = [site.post({"Payload": text}, **anna) for text in messages]
    site.ask("PATCH", f"/api/notifications/{ids[0]}", body={"Read": True}, **anna)
    for size in SIZES:
        for theme in THEMES:
            visitor = Visitor(browser, site, size, theme)
            visitor.do("open", "has Password", "judge sign in", "sign_in anna", "has Turn on notifications", "has Up to date", "judge inbox")
            site.page.isUp = False
            visitor.do("open", "has There is no connection.", "judge offline")
            site.page.isUp = True
            visitor.do("open", "has Up to date")
            site.interpose(["nginx-portal.conf"], "")
            visitor.do("click Check now", "has This network wants you to sign in first.", "judge portal")
            site.direct()
            visitor.do("click Sign out", "has Password", "close")
            least = min(least, visitor.least)
    return least


def run(options):
    with Site(options.sealpost) as site:
        site.serve()
        try:
            with chromium.Chromium() as browser:
                for origin in (site.origin, site.first, site.shared, site.tabs, site.changes):
                    browser.call("Browser.grantPermissions", permissions=["notifications"], origin=origin)
                go_through(browser, site)
        finally:
            site.direct()
        processes.terminate(site.daemon)


def go_through(browser, site):
    launch_as_written(browser, site)
    visitor = Visitor(browser, site)
    id = first_launch(visitor, site)
    read_and_dismiss(visitor, site, id)
    read_once(visitor, site)
    named = meet_proxies(visitor, site, id)
    cross_origins(visitor, site, id)
    try_store(visitor.ask, site)
    go_offline(visitor, site, id)
    searched = search_profile(browser.profile)
    sign_out(visitor, site)
    visitor.close()
    least = look(browser, site)
    use_tabs(browser, site)
    use_calls(browser, site)
    use_changes(browser, site)
    times = use_large_inbox(browser, site)
    attributed = share_a_browser(browser, site)
    print(f"behind {len(interferers.ALL)} chains of proxies, with pinned keys and without: {dict(sorted(named.items()))}; no push was shown wrong")
    print(f"offline, other origins and signing out as they should be; {searched} bytes of the browser's databases hold nothing unsealed")
    print("5,000 notifications of 4 KiB, processor time: sync() {} ms, then cachedInbox() {} ms and a badge {} ms; in a new client {}, {} and {} ms".format(*times))
    print(f"two accounts on one page and one subscription: {attributed} pushes, each shown and cached as its own account's")
    print(f"{len(SIZES) * len(THEMES)} sizes and themes judged, the least contrast {least:.2f}")
