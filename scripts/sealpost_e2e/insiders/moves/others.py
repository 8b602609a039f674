"""What belongs to others: their notifications, leases, cursors, streams, names, keys."""

import json
import random
import re
import time

from sealpost_e2e import api
from sealpost_e2e.insiders.insider import move, word


def json_of(answer):
    return json.loads(answer.text) if answer.text.startswith((b"{", b"[", b'"')) else None


@move(
    "Another's notification", "GET, HEAD, PATCH, DELETE, `taken`, the report of its deliveries, and a single push to be tried or "
    "cancelled, by its id, plain and conditional", "404 not-found, 404", role="publisher",
)
def anothers_notification(insider):
    vera = insider.site.vera
    for id in (vera.id, vera.read_once):
        path = f"/api/notifications/{id}"
        for fields in ({}, {"If-Match": "*"}, {"If-None-Match": "*"}, {"If-Unmodified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}):
            insider.ask("GET", path, fields=fields)
            insider.ask("PATCH", path, {"Read": True}, fields=fields)
            insider.ask("DELETE", path, fields=fields)
        insider.ask("HEAD", path)
        insider.ask("POST", f"{path}/taken")
        insider.ask("GET", f"{path}/deliveries")
        for method in ("POST", "DELETE"):
            insider.ask(method, f"{path}/deliveries/{next(iter(vera.devices.values()))[0]}")


@move(
    "Another's in lists", "`ids` of another's, `since` with another's cursor, marking another's as read",
    "200, 400 invalid-cursor",
)
def anothers_in_lists(insider):
    site = insider.site
    ids = [site.vera.id, site.vera.read_once]
    listed = json_of(insider.ask("GET", f"/api/notifications?ids={ids[0]},{ids[1]}"))
    if listed["Notifications"]:
        insider.harm("a list has what is another's")
    if json_of(insider.ask("POST", "/api/notifications/read", {"Ids": ids}))["Read"]:
        insider.harm("another's was marked as read")
    cursor = api.ask(site.connect(), "GET", "/api/notifications", credentials=site.victor.authorization)["Cursor"]
    for unread in ("", "&unread=true"):
        insider.ask("GET", f"/api/notifications?since={cursor}{unread}")
    for number in range(len(cursor)):
        insider.ask("GET", f"/api/notifications?since={cursor[:number]}{'A' if cursor[number] != 'A' else 'B'}{cursor[number + 1:]}")


@move(
    "Another's events", "`GET /api/events` from the start, behind numbers of an administrator's list, and behind numbers that "
    "were never given out", "200, 400 invalid-cursor, 429 rate-limited?", role="publisher",
)
def anothers_events(insider):
    own = {json_of(insider.post(counts=False))["Id"] for _ in range(3)}
    numbers = [event["Number"] for event in json_of(
        insider.ask("GET", "/api/events?limit=500", authorization=insider.site.admin, counts=False)
    )["Events"]]
    for cursor in (None, "-1", "x", str(1 << 63), 0, (1 << 63) - 1, *random.sample(numbers, min(20, len(numbers)))):
        answer = insider.ask("GET", "/api/events?limit=500" + ("" if cursor is None else f"&cursor={cursor}"))
        if answer.status == 200 and {event["Notification"] for event in json_of(answer)["Events"]} - own:
            insider.harm("a list of events has what is another's")


@move(
    "Another's stream and devices", "`GET /api/stream?device=`, a test push and topics with another's registration id",
    "404 not-found, 410 registration-gone, 400 invalid-parameter",
)
def anothers_devices(insider):
    for id, _, _ in insider.site.vera.devices.values():
        insider.ask("POST", f"/api/devices/{id}/test")
        insider.ask("GET", f"/api/stream?device={id}")
        for method in ("PUT", "DELETE"):
            for topic in ("news", "role:nurse", "username:vera"):
                insider.ask(method, f"/api/devices/{id}/topics/{topic}")


@move("Ids by guessing", "random ids, and those near one of its own, as fast as it can", "404 not-found, 429 rate-limited?")
def guessed_ids(insider):
    own = json_of(insider.post(counts=False))["Id"]
    guess = lambda number: random.randrange(1, 1 << 31) if number % 2 else abs(own - random.randrange(1, 5000))
    insider.keep_on(lambda number: insider.ask("GET", f"/api/notifications/{guess(number)}"))


@move(
    "Names by the words of answers", "wrong passwords, routes of administrators and posts, to users that there are and to "
    "others, compared byte for byte", "401 unauthorized, 403 forbidden",
)
def names_by_words(insider):
    pairs = [("on-fcm-0", f"on-{word()[:5]}"), ("on-apns-0", f"on-{word()[:6]}"), ("victor", word()[:6])]
    for known, unknown in pairs:
        for ask in (
            lambda name: insider.ask("GET", "/api/register", authorization=api.basic(name, "a wrong password")),
            lambda name: insider.ask("GET", f"/api/users/{name}"),
            lambda name: insider.ask("DELETE", f"/api/users/{name}"),
            lambda name: insider.ask("POST", "/api/tokens", {"User": name}),
            lambda name: insider.ask("POST", f"/api/notifications?to_tag={name}", "hello"),
            lambda name: insider.post({"To": [f"username:{name}"]}),
        ):
            if shape(ask(known), known) != shape(ask(unknown), unknown):
                insider.harm("the words of an answer tell who is there")


def shape(answer, name):
    fields = [(key, value) for key, value in answer.fields.items() if key not in ("Date", "X-Request-Id", "RateLimit")]
    return answer.status, fields, re.sub(rb'"instance":"[^"]*"', b"", answer.text).replace(name.encode(), b"")


@move(
    "Users of other apps", "tags, codes for enrolment and posts, by the name of a user of another app and by one that nobody has, "
    "compared byte for byte; tags of itself and of an administrator", "400 unknown-user, 403 forbidden, 404 not-found",
    role="publisher", before="seen: the tags of other apps' users were read, taken and given, and their names told",
)
def users_of_other_apps(insider):
    site = insider.site
    known, unknown = f"banker-{word()}", f"banker-{word()}"
    site.make_user(known)
    set_apps(insider, known, [])
    for ask in (
        lambda name: insider.ask("GET", f"/api/users/{name}/tags", authorization=insider.password),
        lambda name: insider.ask("PUT", f"/api/users/{name}/tags", {"Tags": ["role:nurse"]}, authorization=insider.password),
        lambda name: insider.ask("POST", f"/api/users/{name}/enrolment", {"Scopes": ["fetch"]}, authorization=insider.password),
        lambda name: insider.post({"To": [f"username:{name}"]}),
    ):
        if shape(ask(known), known) != shape(ask(unknown), unknown):
            insider.harm("an answer tells the names of another app")
    for name in (insider.name, "root"):
        insider.ask("GET", f"/api/users/{name}/tags", authorization=insider.password)
        insider.ask("PUT", f"/api/users/{name}/tags", {"Tags": ["role:nurse"]}, authorization=insider.password)
    insider.ask("DELETE", f"/api/users/{known}", authorization=site.admin, counts=False)


def set_apps(insider, name, apps):
    """Has an administrator say to which apps a user belongs."""
    path = f"/api/users/{name}"
    if insider.ask("PATCH", path, {"Apps": apps}, authorization=insider.site.admin, counts=False).status != 204:
        raise SystemExit(f"the apps of {name} were not changed")


@move(
    "An app that it has left", "the report, the events, single pushes, marking, taking and recalling of what it sent there",
    "200, 404 not-found, 404", role="publisher", before="seen: reports and events were read, and the notification was recalled",
)
def left_app(insider):
    id = json_of(insider.post({"To": ["username:victor"]}, counts=False))["Id"]
    set_apps(insider, insider.name, [])
    path, ask = f"/api/notifications/{id}", lambda *request: insider.ask(*request, authorization=insider.password)
    for suffix in ("", "/deliveries"):
        ask("GET", path + suffix)
    for method in ("POST", "DELETE"):
        ask(method, f"{path}/deliveries/{'0' * 32}")
    ask("HEAD", path)
    ask("PATCH", path, {"Read": True})
    ask("POST", f"{path}/taken")
    ask("DELETE", path)
    if json_of(ask("POST", "/api/notifications/read", {"Ids": [id]}))["Read"]:
        insider.harm("a notification of another app was marked as read")
    if json_of(ask("GET", "/api/events?limit=500"))["Events"]:
        insider.harm("events of another app were read")
    if insider.ask("GET", path, authorization=insider.site.victor.authorization, counts=False).status != 200:
        insider.harm("a notification of another app was recalled")


@move(
    "Another's idempotency key", "the same key with the same body and with another, while and after another user posts with it",
    "201, 422 idempotency-key-reused",
)
def anothers_idempotency_key(insider):
    site, key = insider.site, word()
    order = {"Payload": "a matter of one's own", "ExpiresIn": 600}
    connection = site.connect()
    connection.request("POST", "/api/notifications", json.dumps(order),
        {"Authorization": site.victor.authorization, "Idempotency-Key": key})
    theirs = json.loads(connection.getresponse().read())["Id"]
    fields = {"Idempotency-Key": key}
    own = json_of(insider.ask("POST", "/api/notifications", order, fields))["Id"]
    insider.ask("POST", "/api/notifications", order | {"Payload": "another"}, fields)
    if own == theirs or json_of(insider.ask("POST", "/api/notifications", order, fields))["Id"] != own:
        insider.harm("a key was another's")


@move(
    "Another's collapse key", "a publisher posts with it to the same device at the same time; both pushes must arrive",
    "201", role="publisher",
)
def anothers_collapse_key(insider):
    site, ids = insider.site, []
    name = site.devices["webhook"][0][0]
    for number in range(5):
        key = f"weather-{number}"
        ids.append(site.send(name, {"Payload": "honest", "CollapseKey": key}))
        ids.append(json_of(insider.post({"To": [f"username:{name}"], "CollapseKey": key}))["Id"])
    end, missing = time.monotonic() + 5, set(map(str, ids))
    while missing and time.monotonic() < end:
        time.sleep(0.1)
        missing -= {line.split(" ")[2] for line in site.arrivals.read_text().splitlines()}
    if missing:
        insider.harm(f"{len(missing)} pushes were collapsed by another sender's key")


@move(
    "Another browser's credentials", "a page of another site has a browser, which keeps another's password, send requests of "
    "all kinds", "403 cross-origin",
    before="seen: a form made an administrator, with the attacker's password",
)
def forged_requests(insider):
    site = insider.site
    ambient = api.basic("root")
    pages = [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Origin": f"http://127.0.0.1:{site.port + 1}"},
    ]
    name, target = f"mallory-{word()}", f"wilma-{word()}"
    site.make_user(target)
    for page in pages:
        fields = page | {"Content-Type": "text/plain"}
        insider.ask("POST", "/api/users", {"Name": name, "Password": "correct horse", "Role": "admin"}, fields, ambient)
        insider.ask("POST", "/api/notifications", b"", fields, ambient)
        insider.ask("DELETE", f"/api/users/{target}", None, fields, ambient)
        insider.ask("PATCH", f"/api/users/{target}", {"Disabled": True}, fields, ambient)
        insider.ask("GET", f"/api/notifications/{site.vera.id}", None, page, ambient)
        insider.ask("GET", "/api/audit", None, page, ambient)
    user = lambda name: insider.ask("GET", f"/api/users/{name}", authorization=site.admin, counts=False)
    if user(name).status != 404:
        insider.harm("a forged request has made an administrator")
    if json_of(user(target)).get("Disabled") is not False:
        insider.harm("a forged request has deleted or disabled a user")
