"""Tests cross-origin protection: Chromium, with an administrator's saved password, visits hostile and allowed pages.

Each attack runs on a page of another site, of the same site, and of an opaque origin. It must change and read nothing, and the
daemon's log must have its refusal. Pages of the server's own origin and of an allowed one can do everything, and read all
documented answers. This is so over the daemon's own TLS. In clear, browsers send only `Origin`, and not with images, scripts and
frames: these may leave receipts, take pushes and learn whether an id exists, but read nothing. Before that, a relay removes
`Origin` and `Sec-Fetch-Site`: there the same attacks must do harm, or the program could not fail.
"""

import collections
import contextlib
import json
import pathlib
import re
import socket
import tempfile
import urllib.parse

from sealpost_e2e import api, chromium, listening, processes, require, rig, tls

SERVER, APP = "push.example", "app.example"
# The attackers' pages, by their relation to the server. The last are sandboxed: their origin is `null`.
HOSTILE = {"another site": "evil.example", "the same site": "blog.push.example", "no origin": "evil.example/sandboxed"}


# Each is JavaScript on a page, with `base`, the server's address, and `id`, a notification for the user. It returns
# what it has read, or null. In clear the daemon cannot recognize the pages behind attacks named "get…".
TOOLS = """
const read = async promise => { try { return (await (await promise).text()) || null } catch { return null } };
const pause = time => new Promise(done => setTimeout(done, time));
const tried = (tag, attributes) => new Promise(done => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.onload = () => done([element, 'load']);
    element.onerror = () => done([element, 'error']);
    pause(5000).then(() => done([element, 'nothing']));
    document.body.append(element);
});
const inserted = async (tag, attributes) => (await tried(tag, attributes))[0];
// Once more where a busy machine has let an element wait too long.
const outcomes = async (id, _, __, tries = 3) => {
    const address = base + '/api/notifications/' + id, found = [];
    for (const [tag, attributes] of [['img', {src: address}], ['script', {src: address}], ['iframe', {src: address}],
        ['link', {rel: 'stylesheet', href: address}], ['object', {data: address}]]) found.push((await tried(tag, attributes))[1]);
    return tries > 1 && found.includes('nothing') ? outcomes(id, _, __, tries - 1) : found.join();
};
const submitted = (path, enctype, fields) => {
    const frame = document.createElement('iframe');
    frame.name = 'f' + Math.random();
    document.body.append(frame);
    const form = Object.assign(document.createElement('form'), {action: base + path, method: 'post', enctype, target: frame.name});
    for (const [name, value] of fields) form.append(Object.assign(document.createElement('input'), {name, value}));
    document.body.append(form);
    return new Promise(done => {
        frame.onload = () => { try { done(frame.contentDocument.body.innerText || null) } catch { done(null) } };
        form.submit();
    });
};
const framed = path => inserted('iframe', {src: base + path}).then(frame => {
    try { return frame.contentDocument.body.innerText || null } catch { return null }
});
const include = {credentials: 'include'};
const user = name => JSON.stringify({Name: name, Password: 'correct horse battery', Role: 'admin'});
"""
ATTACKS = {
    "form as text": """submitted('/api/users', 'text/plain', [[user(name).slice(0, -1) + ',"x":"', '"}']])""",
    "form as form": "submitted('/api/notifications', 'application/x-www-form-urlencoded', [])",
    "form with a file's type": "submitted('/api/notifications', 'multipart/form-data', [])",
    "fetch without CORS": "read(fetch(base + '/api/users', {...include, method: 'POST', mode: 'no-cors', body: user(name)}))",
    "fetch with CORS": "read(fetch(base + '/api/users', {...include, method: 'POST', body: user(name)}))",
    "fetch of a list": "read(fetch(base + '/api/notifications', include))",
    "fetch with a field": "read(fetch(base + '/api/notifications', {...include, headers: {MyToken: '1'}}))",
    "fetch with a password": "read(fetch(base + '/api/notifications', {headers: {Authorization: basic}}))",
    "PUT": "read(fetch(base + '/api/register/x', {...include, method: 'PUT', body: '{\"Platform\":\"stream\"}'}))",
    "DELETE": "read(fetch(base + '/api/notifications/' + id, {...include, method: 'DELETE'}))",
    "beacon": "Promise.resolve(navigator.sendBeacon(base + '/api/notifications', '\"beacon\"')).then(() => null)",
    "event stream": """new Promise(done => {
        const stream = new EventSource(base + '/api/stream', {withCredentials: true});
        stream.onopen = () => done('open');
        stream.onmessage = event => done(event.data);
        stream.onerror = () => { stream.close(); done(null) };
    })""",
    # Comes after the event stream: the daemon notices late that its stream was left, and sends the next push there.
    "WebSocket": """new Promise(done => {
        const socket = new WebSocket(base.replace('http', 'ws') + '/api/stream');
        socket.onopen = () => done('open');
        socket.onmessage = event => done(event.data);
        socket.onerror = () => done(null);
    })""",
    "get image": "inserted('img', {src: base + '/api/notifications/' + id}).then(image => image.naturalWidth || null)",
    "get script": """inserted('script', {src: base + '/api/notifications/' + id}).then(() => null)""",
    "get style": """inserted('link', {rel: 'stylesheet', href: base + '/api/notifications'}).then(link => {
        try { return link.sheet.cssRules.length || null } catch { return null }
    })""",
    # An element's fate shows whether an id exists.
    "get by trying": "Promise.all([id, 1].map(outcomes)).then(([there, missing]) => there === missing ? null : there + ' and ' + missing)",
    "get without CORS": "read(fetch(base + '/api/notifications/' + id, {...include, mode: 'no-cors'}))",
    "get frame": "framed('/api/notifications')",
    "get frame of a stream": "Promise.race([framed('/api/stream'), pause(1500).then(() => null)])",
}
# Without protection these must do harm from a page of another site.
HARMFUL = {
    "form as text", "form as form", "fetch without CORS", "fetch with CORS", "fetch of a list", "beacon", "event stream",
    "get image", "get script", "get style", "get without CORS", "get frame", "get frame of a stream",
}


APP_SCRIPT = """(async () => {
    const ask = async (path, options = {}) => {
        const response = await fetch(base + path, {cache: 'no-store', ...options, headers: {MyToken: '1000', ...options.headers}});
        return {status: response.status, fields: Object.fromEntries(response.headers), text: await response.text()};
    };
    const mine = {Authorization: basic}, sign = 'sig=("@status" "content-digest" "mytoken";req)';
    const result = {};
    result.id = JSON.parse((await ask('/api/register', {method: 'POST', headers: mine})).text);
    result.registered = await ask('/api/register/' + result.id,
        {method: 'PUT', headers: {...mine, 'Content-Type': 'application/json'}, body: '{"Platform":"stream"}'});
    result.sent = await ask('/api/notifications', {method: 'POST', body: '{"Payload":"from the app"}',
        headers: {...mine, 'Idempotency-Key': '"one"', 'Accept-Signature': sign, Prefer: 'return=minimal'}});
    result.item = await ask(result.sent.fields.location, {headers: mine});
    result.unchanged = await ask(result.sent.fields.location, {headers: {...mine, 'If-None-Match': result.item.fields.etag}});
    result.marked = await ask(result.sent.fields.location, {method: 'PATCH', headers: mine, body: '{"Read":true}'});
    result.stranger = await ask('/api/register', {credentials: 'omit'});
    // With the password that the browser keeps.
    result.ambient = await ask('/api/register', {credentials: 'include'});
    result.event = await new Promise(done => {
        const stream = new EventSource(base + '/api/stream', {withCredentials: true});
        stream.onmessage = event => { stream.close(); done(event.data) };
        stream.onerror = () => { stream.close(); done('an error') };
    });
    result.gone = await ask(result.sent.fields.location, {method: 'DELETE', headers: mine});
    return result;
})()"""


class Relay(listening.Listener):
    """TLS in front of the daemon's TLS; it removes the fields that identify foreign pages."""

    def __init__(self, context, port):
        self.context, self.upstream = context, port
        super().__init__()

    def serve(self, connection):
        with contextlib.suppress(OSError):  # One of the two went.
            with self.context.wrap_socket(connection, server_side=True) as client:
                head, _, body = listening.receive_until(client, b"\r\n\r\n").partition(b"\r\n\r\n")
                first, *lines = head.split(b"\r\n")
                kept = [line for line in lines if not re.match(rb"(?i)(origin|sec-fetch-[a-z]+|connection):", line)]
                with tls.trusting().wrap_socket(socket.create_connection(("127.0.0.1", self.upstream))) as daemon:
                    daemon.sendall(b"\r\n".join([first, *kept, b"Connection: close", b"", body]))
                    listening.forward(client, daemon)


class Site(rig.Rig):
    """A daemon that allows pages of `APP` at the given port, with a file as its log."""

    def __init__(self, sealpost, scheme, pages_port, context_files=None):
        settings = {"SERVER_ALLOWEDORIGINS": f"{scheme}://{APP}:{pages_port}", "LOG_LEVEL": "debug"}
        if scheme == "https":
            settings |= {"SERVER_TLS_CERTIFICATE": context_files[0], "SERVER_TLS_PRIVATEKEY": context_files[1]}
        super().__init__(sealpost, role="admin", **settings)
        self.context = tls.trusting() if scheme == "https" else None
        self.log = self.folder / "log"

    def serve(self):
        with open(self.log, "a") as log:
            process = self.start_daemon(stderr=log)
        processes.wait_until(lambda: "serving" in self.log.read_text(), 60, "the daemon", process)
        # Pushes to this stream device wait for a connection, by its user or an attacker.
        api.register(self.connect(), Platform="stream")
        return process

    def requests(self):
        """Method and status of each request so far."""
        lines = re.findall(r"request answered (.*)", self.log.read_text())
        return [tuple(re.search(rf"\b{name}=(\w+)", line)[1] for name in ("method", "status")) for line in lines]

    def state(self):
        """Database values that a forged request could change."""
        rows = {
            "users": "user", "tokens": "token", "devices": "device", "notifications": "notification", "audit": "audit",
            "receipts": "recipient where fetched_at is not null", "pushes": "delivery where state = 'accepted'",
        }
        counts = ", ".join(f"(select count(*) from {of})" for of in rows.values())
        return dict(zip(rows, json.loads(self.read(f"select json_array({counts})"))))

    def changes_since(self, before):
        return {name: (before[name], value) for name, value in self.state().items() if value != before[name]}

    def flush_receipts(self):
        """Waits until all earlier receipts are written; the server writes them in the order of the fetches."""
        connection = self.connect()
        id = api.post(connection, "fence")
        before = self.state()["receipts"]
        api.fetch(connection, id)
        processes.wait_until(lambda: self.state()["receipts"] > before, 30, "a receipt")


def run(options):
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder:
        files = tls.make_certificate(pathlib.Path(folder))
        context = tls.serving(*files)
        harm = attack_without_protection(options, context, files)
        tls_counts = attack(options, "https", context, files)
        clear_counts = attack(options, "http", None, files)
    print(
        f"{len(ATTACKS)} attacks from each of {len(HOSTILE)} pages. Without protection {len(harm)} changed something "
        f"({', '.join(sorted(harm))}); over TLS 0 of {sum(tls_counts.values())}, {tls_counts['refused']} refused by the "
        f"daemon and {tls_counts['stopped']} by the browser after its preflight; in clear 0 of "
        f"{clear_counts['refused'] + clear_counts['stopped']}, and {clear_counts['passed']} that cannot be known read "
        f"nothing. The server's own page and the allowed one did and read all."
    )
    missing = HARMFUL - harm
    require(not missing, f"without protection these did no harm, so that they prove nothing: {', '.join(sorted(missing))}")


def attack_without_protection(options, context, files):
    """The attacks that had an effect from the page of another site."""
    pages = chromium.Pages(context)
    with Site(options.sealpost, "https", pages.port, files) as site, chromium.Chromium() as browser:
        daemon = site.serve()
        relay = Relay(context, site.port)
        base = f"https://{SERVER}:{relay.port}"
        sign_in(browser, base)
        harm = set()
        for name, script in ATTACKS.items():
            page, id, before = prepare(site, browser, f"https://{HOSTILE['another site']}:{pages.port}/")
            run_attack(page, base, id, script, name)
            with contextlib.suppress(SystemExit):  # It had no effect; the caller judges that.
                processes.wait_until(lambda: site.changes_since(before), 5, "a change")
                harm.add(name)
            page.close()
        processes.terminate(daemon)
    return harm


def attack(options, scheme, context, files):
    """Runs all attacks. Returns how many the daemon has refused, and how many ended with their preflight."""
    pages = chromium.Pages(context)
    counts = collections.Counter()
    with Site(options.sealpost, scheme, pages.port, files) as site, chromium.Chromium() as browser:
        daemon = site.serve()
        base = f"{scheme}://{SERVER}:{site.port}"
        sign_in(browser, base)
        check_own_page(site, browser, base)
        site.flush_receipts()
        visits = [(scheme == "http" and name.startswith("get"), place, name) for place in HOSTILE for name in ATTACKS]
        # Attacks without an answer come last: the daemon notices late that their stream was left.
        for is_unknown, place, name in sorted(visits, key=lambda visit: visit[0]):
            host, _, path = HOSTILE[place].partition("/")
            page, id, before = prepare(site, browser, f"{scheme}://{host}:{pages.port}/{path}")
            asked = len(site.requests())
            read = run_attack(page, base, id, ATTACKS[name], name)
            processes.wait_until(lambda: len(site.requests()) > asked, 20, f"a request of \"{name}\" from {place}")
            answers = set(site.requests()[asked:])
            page.close()
            stopped = answers <= {("OPTIONS", "401"), ("OPTIONS", "405")}
            changes = site.changes_since(before)
            if changes and not (is_unknown and changes.keys() <= {"receipts", "pushes"}):
                raise SystemExit(f"\"{name}\" from {place} over {scheme} has changed {changes}")
            # An existing object is shown, a missing one is not: in clear the attacker learns this.
            require(read is None or (is_unknown and name == "get by trying"), f"\"{name}\" from {place} over {scheme} has read {str(read)[:300]}")
            if not stopped and not is_unknown and not all(status == "403" for _, status in answers):
                raise SystemExit(f"\"{name}\" from {place} over {scheme} was answered with {answers}")
            counts["passed" if is_unknown else "stopped" if stopped else "refused"] += 1
        site.flush_receipts()
        if scheme == "https":
            receipts = site.state()["receipts"]
            require(receipts == 3, f"{receipts} receipts instead of 3, of the own page and of the two fences")
        check_app(browser, f"{scheme}://{APP}:{pages.port}/", base)
        processes.terminate(daemon)
    return counts


def sign_in(browser, base):
    """Gives the browser the administrator's password, as at its prompt; it saves it for all below /api."""
    credentials = f"alice:{urllib.parse.quote(api.PASSWORD)}@"
    page = browser.open(base.replace("://", f"://{credentials}") + "/api/users")
    require('"alice"' in page.evaluate("document.body.innerText"), "the browser could not sign in")
    page.close()


def prepare(site, browser, url):
    """A hostile page, a notification that nobody has fetched, and the database's values."""
    id = site.post("a secret")
    return browser.open(url), id, site.state()


def run_attack(page, base, id, script, name):
    """Runs an attack. Returns what it has read."""
    constants = {"base": base, "id": id, "name": f"mallory{id}", "basic": api.basic("alice")}
    lines = "".join(f"const {name} = {json.dumps(value)};" for name, value in constants.items())
    try:
        return page.evaluate(f"(async () => {{ {lines} {TOOLS} return await ({script}); }})()")
    except chromium.Failure as failure:
        raise SystemExit(f"\"{name}\": {failure}") from None


def check_own_page(site, browser, base):
    """A page of the server's own origin uses the saved password, which the browser sends unasked."""
    before = site.state()
    page = browser.open(base + "/healthz")
    sent = page.evaluate("fetch('/api/notifications', {method: 'POST', body: '\"mine\"'}).then(answer => answer.text())")
    listed = page.evaluate("fetch('/api/notifications').then(answer => answer.text())")
    page.close()
    if '"mine"' not in sent or '"mine"' not in listed or "notifications" not in site.changes_since(before):
        raise SystemExit(f"the server's own page could not send: {sent[:300]} {listed[:300]}")


def check_app(browser, url, base):
    """Checks that a page of the allowed origin can do all, and read what it needs."""
    page = browser.open(url)
    constants = f"const base = {json.dumps(base)}, basic = {json.dumps(api.basic('alice'))};"
    result = page.evaluate(f"(() => {{ {constants} return {APP_SCRIPT}; }})()")
    page.close()
    statuses = {name: answer["status"] for name, answer in result.items() if isinstance(answer, dict)}
    expected = {"registered": 200, "sent": 201, "item": 200, "unchanged": 304, "marked": 200, "stranger": 401, "ambient": 200, "gone": 204}
    wrong = [f"{statuses} instead of {expected}"] if statuses != expected else []
    wrong += [f"{name} without MyToken" for name in statuses if result[name]["fields"].get("mytoken") != "17003"]
    missing = {"location", "ratelimit", "content-digest", "signature", "signature-input", "x-request-id"} - result["sent"]["fields"].keys()
    wrong += [f"no {name}" for name in missing | {"etag"} - result["item"]["fields"].keys()]
    texts = {'"from the app"': result["item"]["text"], "urn:sealpost:problem:unauthorized": result["stranger"]["text"], '"secureId"': result["event"]}
    wrong += [f"{text[:300]} without {part}" for part, text in texts.items() if part not in text]
    require(not wrong, f"the allowed page: {'; '.join(wrong)}")
