"""Looks for secrets in all that leaves for the providers and in all that is logged at the finest level.

Payloads, names of users, tags and collapse keys all hold one word, and so do passwords and the devices' addresses, which
may not be logged. Receivers of our own stand in for the providers and keep each byte that comes out of TLS. Then the word
must be nowhere, in no case, base64, hexadecimal or percent encoding; and once ids, tokens, times and addresses are taken
out, the requests to one provider must all be the same, whatever they were about: without an `Alert`, with each member of it
alone, and with a template. What a push service gets must be the same for all of them.
"""

import base64
import json
import re
import subprocess
import time

from sealpost_e2e import api, outbox, processes, receiver, searching, tls

WORD = "canary"
PLATFORMS = ("apns", "fcm", "fcm-data", "wns", "webpush", "webhook")
ORDERS = 12
# What notifications may choose for their pushes: a list of one value for each member, and a template.
ALLOWED = {"titleKeys": ["TITLE"], "bodyKeys": ["BODY"], "categories": ["LETTER"], "threads": ["letters"], "sounds": ["ping.caf"],
    "channels": ["urgent"], "interruptionLevels": ["time-sensitive"], "badge": 99}
TEMPLATE = {"titleKey": "VISIT_TITLE", "bodyKey": "VISIT_BODY", "channel": "visits", "toastText": "A visit"}
ALERTS = ({"TitleKey": "TITLE"}, {"BodyKey": "BODY"}, {"Category": "LETTER"}, {"Thread": "letters"}, {"Sound": "ping.caf"},
    {"Channel": "urgent"}, {"InterruptionLevel": "time-sensitive"}, {"Badge": 42}, "visit", {"Template": "visit", "Badge": 42})
# How many payloads are sent with each of them.
PAYLOADS = 3


def answer(request, number):
    """What APNs, FCM, WNS, a push service or a webhook answers; now and then that it is busy, which is logged."""
    if b"/token" in request.split(b" ", 2)[1]:
        body, status = {"access_token": "x" * 40, "token_type": "bearer", "expires_in": 3600}, "200 OK"
    elif number % 7 == 3:
        body, status = {"reason": "TooManyRequests"}, "429 Too Many Requests\r\nRetry-After: 1"
    elif b"messages:send" in request:
        body, status = {"name": "projects/p/messages/1"}, "200 OK"
    else:
        body, status = None, "201 Created" if b"aes128gcm" in request else "200 OK"
    text = json.dumps(body).encode() if body else b""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


def add_options(parser):
    parser.add_argument("--platforms", default=",".join(PLATFORMS), help="%(default)s")


def run(options):
    platforms = options.platforms.split(",")
    searching.check(WORD, "pigeon")
    with outbox.Outbox(options.sealpost, LOG_LEVEL="trace") as site:
        certificate = tls.make_certificate(site.folder)
        providers = {platform: receiver.Receiver(*certificate, answer) for platform in platforms}
        configure(site, providers)
        for name in ("publisher", *platforms):
            site.add_user(user(name), "publisher" if name == "publisher" else "device", password(name))
        daemon, _ = site.serve()
        alerts = speak(site, providers)
        site.wait_until_settled(120, "the end of all pushes", daemon)
        processes.terminate(daemon)
        judge(site, providers, alerts)


def configure(site, providers):
    tls.make_signing_key(site.folder / "key.p8")
    key = processes.run("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    account = {"type": "service_account", "project_id": "p", "private_key_id": "k", "private_key": key,
        "client_email": "c@example.com", "token_uri": "https://oauth2.googleapis.com/token"}
    (site.folder / "account.json").write_text(json.dumps(account))
    (site.folder / "wns.secret").write_text("secret")
    (site.folder / "webhook.secret").write_text("whsec_" + base64.b64encode(bytes(32)).decode())
    for name in ("wns.secret", "webhook.secret", "account.json", "key.p8"):
        (site.folder / name).chmod(0o600)
    urls = {platform: f"https://localhost:{provider.port}" for platform, provider in providers.items()}
    hosts = {platform: [url.removeprefix("https://")] for platform, url in urls.items()}
    senders = {
        "apns": {"keyFile": "key.p8", "keyID": "ABC123DEFG", "teamID": "DEF123GHIJ", "topic": "com.example.app",
            "endpoint": urls.get("apns"), "envelope": "alert"},
        "fcm": {"serviceAccount": "account.json", "endpoint": urls.get("fcm"), "tokenEndpoint": f"{urls.get('fcm')}/token",
            "apple": "alert", "android": "notification"},
        "fcm-data": {"serviceAccount": "account.json", "endpoint": urls.get("fcm-data"),
            "tokenEndpoint": f"{urls.get('fcm-data')}/token"},
        "wns": {"tenantID": "t", "envelope": "toast", "clientID": "c", "clientSecretFile": "wns.secret", "allowPrivateAddresses": True,
            "tokenEndpoint": f"{urls.get('wns')}/token", "allowedHosts": hosts.get("wns")},
        "webpush": {"subject": "mailto:operator@example.com", "allowPrivateAddresses": True,
            "allowedHosts": hosts.get("webpush")},
        "webhook": {"url": f"{urls.get('webhook')}/hook", "secretFile": "webhook.secret"},
    }
    chosen = {name: {"type": name.partition("-")[0], "caFile": "certificate.pem"} | senders[name] for name in providers}
    # JSON is YAML.
    alerts = {"allowed": ALLOWED, "templates": {"visit": TEMPLATE}}
    site.configuration.write_text(json.dumps({"senders": chosen, "alerts": alerts}))


def handle(platform, port):
    """A device's address, which holds the word wherever the platform lets it."""
    match platform:
        case "apns": return WORD.encode().hex().ljust(64, "0")
        case "wns": return f"https://localhost:{port}/w/?token={WORD}%2b1"
        case "webpush":
            command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-outform", "DER"]
            point = subprocess.run(command, capture_output=True, check=True).stdout[-65:]
            keys = {"p256dh": url_base64(point), "auth": url_base64(WORD.encode().ljust(16))}
            return json.dumps({"endpoint": f"https://localhost:{port}/push/{WORD}", "keys": keys})
        case _: return f"{WORD}-handle-of-{platform}"


def speak(site, providers):
    """Registers a device for each platform and sends to all of them, and says wrong things too. The ids with their alerts."""
    connection = site.connect()
    for platform, provider in providers.items():
        id = ask(connection, platform, "POST", "/api/register")
        device = {"Platform": platform, "Handle": handle(platform, provider.port), "Tags": [f"{WORD}-tag", f"{platform}-{WORD}"]}
        ask(connection, platform, "PUT", f"/api/register/{id}", device)
        if platform == "webhook":
            ask(connection, platform, "POST", f"/api/register/{id}/confirmation", provider.code(device["Handle"]))
    alerts = {}
    for number in range(ORDERS):
        order = {"Payload": {f"{WORD}{number}": f"{WORD} text " * (1 + number)}, "To": [f"{WORD}-tag && !other-{WORD}"]}
        if number % 3 == 1:
            order |= {"CollapseKey": f"{WORD}-key-{number}", "Store": "never"}
        if number % 4 == 2:
            order = f"{WORD} alone {number}"
        path = "/api/notifications" + (f"?to_tag={user('apns')}" if isinstance(order, str) and "apns" in providers else "")
        alerts[ask(connection, "publisher", "POST", path, order)["Id"]] = None
        time.sleep(0.05)
    for number in range(PAYLOADS):
        for alert in ALERTS:
            order = {"Payload": f"{WORD} " * (1 + 7 * number), "To": [f"{WORD}-tag"], "Alert": alert}
            alerts[ask(connection, "publisher", "POST", "/api/notifications", order)["Id"]] = json.dumps(alert)
            time.sleep(0.05)
    for platform in providers:
        for id in alerts:
            ask(connection, platform, "GET", f"/api/notifications/{id}", expected=(200, 404))
    # What is refused must not be repeated in the log either.
    ask(connection, "publisher", "POST", "/api/notifications", {"Payload": WORD, "To": [f"(({WORD}"]}, expected=(400,))
    ask(connection, "publisher", "POST", f"/api/notifications?to_tag={WORD}%20{WORD}", WORD, expected=(400,))
    ask(connection, f"nobody{WORD}", "GET", "/api/register", expected=(401,))
    ask(connection, next(iter(providers)), "POST", "/api/notifications", {"Payload": WORD, "To": [f"username:{WORD}"]},
        expected=(403,))
    for alert in (f"{WORD}", {"Template": WORD}, {WORD: WORD}, {"Badge": WORD}, *({key: WORD} for alert in ALERTS[:7] for key in alert)):
        ask(connection, "publisher", "POST", "/api/notifications", {"Payload": 1, "Alert": alert}, expected=(400,))
    connection.close()
    return alerts


def judge(site, providers, alerts):
    ids = list(alerts)
    log = site.log.read_bytes()
    requests = [request for provider in providers.values() for request in provider.requests]
    failures = [f"in the log: {hit}" for hit in searching.find(log, WORD)]
    kinds = {}
    for platform, provider in providers.items():
        # The address is the device's own, and must be there.
        addresses = [handle(platform, provider.port)] if platform != "webpush" else []
        codes = [request for request in provider.requests if b'"confirmation":' in request]
        pushes = [request for request in provider.requests if b"/token" not in request.split(b" ", 2)[1] and request not in codes]
        shapes = {shape(push, addresses, ids) for push in pushes}
        failures += [f"in the log: the code {code}" for _, code in provider.codes() if code.encode() in log]
        for text in [*shapes, *(shape(code, addresses, ids) for code in codes),
            *(request for request in provider.requests if request not in pushes and request not in codes)]:
            failures += [f"to {platform}: {hit}" for hit in searching.find(text, WORD)]
        groups = {}
        for push in pushes:
            groups.setdefault(alert_of(push, alerts), set()).add(shape(push, addresses, ids))
        for alert, found in groups.items():
            if len(found) != 1:
                failures.append(f"to {platform}: {len(found)} shapes with the alert {alert}: {b' | '.join(sorted(found))[:2000]}")
        # Otherwise no alert has arrived, or no push at all.
        if len(groups) < 2 and platform != "webpush" or not pushes:
            failures.append(f"to {platform}: {len(pushes)} pushes of {len(groups)} alerts")
        kinds[platform] = len(pushes)
    if not log.strip() or b"level=debug" not in log:
        failures.append("the log is not at its finest")
    for failure in failures:
        print(failure)
    print(
        f"{len(ids)} notifications, pushes {kinds}: {sum(map(len, requests))} bytes to the providers and {len(log)} bytes "
        f"of log, {len(failures)} of them out of place"
    )
    if failures:
        raise SystemExit(1)


def alert_of(push, alerts):
    """The alert of the notification that a push is about. What is encrypted must be the same for all; a badge for Windows has
    no id."""
    head, _, body = push.partition(b"\r\n\r\n")
    if b"aes128gcm" in head: return "any"
    return next((alert for id, alert in alerts.items() if str(id).encode() in body), "one without an id")


def shape(request, addresses, ids):
    """A request without what may differ: the notification's id, ids and keys made of random numbers, tokens, times and
    the device's address."""
    for address in addresses:
        # Of a URL, its path goes into the request's first line.
        path = address.partition("://")[2].partition("/")[2]
        request = request.replace((path or address).encode(), b"<handle>")
    request = re.sub(rb"(?i)^(authorization|crypto-key|webhook-signature|apns-id|webhook-id|apns-collapse-id|topic): [^\r]+",
        rb"\1: <random>", request, flags=re.M)
    request = re.sub(rb"POST /push/canary", b"POST <handle>", request)
    request = re.sub(rb"(?i)^(apns-expiration|ttl|x-wns-ttl|webhook-timestamp): \d+", rb"\1: <time>", request, flags=re.M)
    # There only if the sender gave a key; that it is not the key itself is looked for elsewhere.
    request = re.sub(rb',"collapse_key":"[\w-]{1,32}"', b"", request)
    request = re.sub(rb'"ttl":"\d+s"', b'"ttl":"<time>"', request)
    request = re.sub(rb'"tag":"[\w-]{1,32}"', b'"tag":"<random>"', request)
    # What FCM is to tell APNs.
    request = re.sub(rb'"apns-collapse-id":"[\w-]{1,64}"', b'"apns-collapse-id":"<random>"', request)
    request = re.sub(rb'"apns-expiration":"\d+"', b'"apns-expiration":"<time>"', request)
    request = re.sub(rb"(?i)^content-length: \d+", b"content-length: <number>", request, flags=re.M)
    head, end, body = request.partition(b"\r\n\r\n")
    if b"aes128gcm" in head:
        body = b"<%d bytes>" % len(body)
    for id in ids:
        body = body.replace(str(id).encode(), b"<id>")
    return head + end + body


# MARK: Small things

def user(name):
    return f"{WORD}-{name}"


def password(name):
    return f"{WORD} password of {name}"


def ask(connection, name, method, path, body=None, expected=(200, 201)):
    return api.ask(connection, method, path, body, api.basic(user(name), password(name)), expected)


def url_base64(bytes):
    return base64.urlsafe_b64encode(bytes).rstrip(b"=").decode()
