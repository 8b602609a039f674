"""Facts that the OpenAPI document does not contain: users, devices, platforms and credentials.

The hooks put stored names into valid requests only, and leave invalid ones as schemathesis made them. No request may
delete data that other requests need.
"""

import base64
import collections.abc
import datetime
import functools
import http.client
import json
import os
import pathlib
import random
import sys
import urllib.parse

import schemathesis

sys.path.append(str(pathlib.Path(__file__).parent.parent.parent / "scripts"))

from sealpost_e2e import api  # noqa: E402

SITE = json.loads(os.environ["SEALPOST_SITE"])
COMMON = (pathlib.Path(__file__).parent.parent.parent / "Sources/PushCore/CommonPasswords.txt").read_text().split()
KEPT_NAMES = {name.lower() for name in SITE["tokens"]}
LONGEST_NAME = 100
KEPT_PREFIXES = {token[:12] for token in SITE["tokens"].values()}
# A generator of its own, so that these choices do not change schemathesis' random values.
dice = random.Random(SITE["seed"])
connection = http.client.HTTPConnection("127.0.0.1", SITE["port"], timeout=60)


def ask(method, path, body=None, user="root"):
    """Sends a request of our own and returns the body of its answer."""
    authorization = {"Authorization": f"Bearer {SITE['tokens'][user]}"}
    connection.request(method, path, json.dumps(body) if body is not None else None, authorization)
    text = connection.getresponse().read()
    return json.loads(text) if text else None


# MARK: Callers

# `registrar` gets thousands of devices, and no request sends to them. `tester` has a device to test; the password of
# `carol` may change.
CALLERS = {
    "requestRegistration": "registrar", "register": "registrar", "unregister": "registrar",
    "confirmRegistration": "registrar", "testDevice": "tester", "joinTopic": "tester", "leaveTopic": "tester",
    "changeOwnPassword": "carol", "listNotifications": "amy", "markNotification": "amy", "markNotifications": "amy",
}


@schemathesis.auth(refresh_interval=None)
class Credentials:
    def get(self, case, context):
        id = context.operation.definition.raw["operationId"]
        if id == "beginSession":
            # A session begins with the password.
            return "Basic " + base64.b64encode(f"root:{SITE['password']}".encode()).decode()
        if id == "endSession":
            return "Bearer " + ask("POST", "/api/tokens", {"User": "amy", "ExpiresIn": 600})["Token"]
        name = CALLERS.get(id, "root")
        # Most streams end at once because `root` has no device; waiting for ten thousand would take too long.
        if id == "openStream" and dice.random() < 0.04:
            name = "listener"
        if id == "listRegistrations" and dice.random() < 0.02:
            name = "registrar"
        return "Bearer " + SITE["tokens"][name]

    def set(self, case, data, context):
        case.headers["Authorization"] = data


# MARK: Values


def name(_=None):
    return dice.choice(["amy", "Zoe"])


def term(depth=0):
    """A tag expression."""
    kind = dice.randrange(5) if depth < 3 else 0
    if kind == 1:
        return f"!{term(depth + 1)}"
    if kind in (2, 3):
        return f"({term(depth + 1)}{dice.choice(['||', ' || ', '&&', ' && '])}{term(depth + 1)})"
    return "topic:" + "".join(dice.choices("-abcXYZ019_@#+.:", k=dice.randrange(1, 40)))


def expression(_=None):
    # Always names a user with few devices: a broadcast to all would test the outbox instead.
    return dice.choice([f"username:{name()}", f"username:{name()} && {term()}"])


def platform(_=None):
    return dice.choice(["fcm", "gcm"])


def soon():
    """Returns a time within ten minutes, in one of the spellings of RFC 3339."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=dice.randrange(600))
    zone = datetime.timezone(datetime.timedelta(minutes=dice.randrange(-720, 720)))
    return dice.choice([moment, moment.astimezone(zone)]).isoformat()


def endpoint(_=None):
    return f"https://push.example.com/{dice.getrandbits(64)}"


def point(_=None):
    return "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"


@functools.cache
def device_key():
    """A device key of the account of `setDeviceKey`."""
    return api.device_key(ask("GET", "/api/sessions/current")["Account"])


def password(names):
    """Returns a function that makes an acceptable password of a text: at most 256 bytes, neither
    a user's name nor a common password."""
    bad = {*COMMON, *(str(name).lower() for name in names)}
    return lambda text: f"not {text[:50]}" if text.lower() in bad or len(text.encode()) > 256 else text


def fill(place, member, make):
    """Replaces the member's text, or each text of its list."""
    if not isinstance(place, collections.abc.MutableMapping):
        return
    if isinstance(place.get(member), list):
        place[member] = [make(element) if isinstance(element, str) else element for element in place[member]]
    elif isinstance(place.get(member), str):
        place[member] = make(place[member])


def complete(id, case):
    """Puts existing names into a valid request."""
    query, body = case.query or {}, case.body
    fill(query, "pns", platform)
    fill(query, "to_tag", name)
    for spelling in ("cursor", "after", "before", "since"):
        if len(str(query.get(spelling, ""))) > LONGEST_NAME:
            # Only the server can make the encrypted cursors of viewers.
            del query[spelling]
    # The configuration has one app and no sandbox.
    fill(query, "app", lambda _: "default")
    for member in ("App", "Apps"):
        fill(body, member, lambda _: "default")
    fill(body, "Environment", lambda _: "production")
    if id == "setDeviceKey":
        fill(body, "Key", lambda _: device_key())
    # Otherwise hardly any precondition would hold.
    fill(case.headers, "If-Match", lambda text: dice.choice([text, "*", "*"]))
    # With strict handling the server refuses members that the schema does not name; schemathesis adds some.
    case.headers.pop("Prefer", None)
    if id == "sendNotification" and not isinstance(body, str):
        for parameter in ("app", "pns", "to_tag"):
            query.pop(parameter, None)
    if id in ("sendNotification", "sendNotifications"):
        orders = [body]
        if id == "sendNotifications" and isinstance(body, dict):
            orders = body.get("Notifications") if isinstance(body.get("Notifications"), list) else []
        for order in orders:
            fill(order, "To", expression)
            fill(order, "App", lambda _: "default")
            fill(order, "Platforms", platform)
            # The server accepts any past time, and future times within thirty days.
            fill(order, "SendAt", lambda text: dice.choice([text, soon()]) if text < "2026" else soon())
            if isinstance(order, collections.abc.MutableMapping) and order.get("Alert") is not None:
                # The configuration lists the permitted alerts.
                order["Alert"] = dice.choice(["appointment", {"Template": "appointment", "Badge": dice.randrange(10_000)}, {"Badge": 0}])
        # The server refuses another request with a used key.
        fill(case.headers, "Idempotency-Key", lambda text: dice.choice(['{}', '"{}"']).format(dice.getrandbits(128)))
    elif id == "listNotifications":
        if len(query) > 1:
            # `ids` excludes other parameters, which the schema of a parameter cannot express.
            query.pop("ids", None)
        # A cursor is valid for one user and one kind of list.
        path = "/api/notifications?limit=1" + ("&unread=true" if str(query.get("unread")).lower() == "true" else "")
        # `cursor` and `since` are two spellings of one parameter.
        if "cursor" in query:
            query.pop("since", None)
        for spelling in ("cursor", "since"):
            fill(query, spelling, lambda _: ask("GET", path, user="amy")["Cursor"])
    elif id == "listDeviceKeys":
        fill(query, "to", expression)
    elif id in ("listUsers", "listTokens", "listAudit", "listEvents") and "cursor" in query:
        query.pop("after", None)
        query.pop("before", None)
        query.pop("since", None)
    elif id == "register" and isinstance(body, dict):
        if isinstance(body.get("Handle"), dict):
            fill(body["Handle"], "endpoint", endpoint)
            fill(body["Handle"].get("keys"), "p256dh", point)
        elif body.get("Platform") != "stream":
            fill(body, "Platform", platform)
    elif id == "addToken":
        fill(body, "User", name)
    elif id == "openStream" and dice.random() < 0.5:
        fill(query, "device", lambda _: SITE["stream"])
    elif id == "changeOwnPassword" and dice.random() < 0.5:
        fill(body, "Current", lambda _: SITE["password"])
    # JSON Schema takes `-0` for an integer; the server accepts decimal digits only.
    fill(case.headers, "MyToken", lambda text: "0" if text == "-0" else text)
    if "MyToken" not in case.headers:
        # `Accept-Signature` requires `MyToken`, which OpenAPI cannot express.
        case.headers.pop("Accept-Signature", None)
    names = [body.get("Name")] if isinstance(body, dict) else []
    # Names in a path are percent-encoded.
    names += [urllib.parse.unquote(str(value)) for value in (case.path_parameters or {}).values()]
    for member in ("Password", "New"):
        fill(body, member, password([*names, *KEPT_NAMES]))


def aim(id, parameters):
    """Sometimes replaces the id by an existing one, and always an id that other requests need."""
    target = str(parameters.get("id"))
    if id in ("changeUser", "deleteUser") and (target.lower() in KEPT_NAMES or dice.random() < 0.2):
        parameters["id"] = victim(id)
    elif id == "deleteToken" and (target in KEPT_PREFIXES or dice.random() < 0.1):
        parameters["id"] = ask("POST", "/api/tokens", {"User": "amy", "ExpiresIn": 60})["Prefix"]
    elif id in ("register", "confirmRegistration") and dice.random() < 0.7:
        # The server answers 410 to an id that it has not issued.
        parameters["id"] = ask("POST", "/api/register", user="registrar")
    elif id == "deleteDevice" and (target in (SITE["device"], SITE["stream"]) or dice.random() < 0.2):
        parameters["id"] = ask("POST", "/api/register")
    elif id == "testDevice" and dice.random() < 0.1:
        parameters["id"] = SITE["device"]
    elif id in ("joinTopic", "leaveTopic"):
        # Arbitrary topics could be reserved, and many of them would exceed the limit of sixty.
        parameters["topic"] = dice.choice(["news", "A:b@c.-_", "sport"])
        if dice.random() < 0.7:
            parameters["id"] = SITE["device"]
    elif id in ("getNotification", "markNotification", "deleteNotification", "listDeliveries") and dice.random() < 0.5:
        order = {"Payload": "for amy", "To": ["username:amy"], "ExpiresIn": 60}
        parameters["id"] = ask("POST", "/api/notifications", order)["Id"]
    elif id == "confirmNotification" and dice.random() < 0.5:
        order = {"Payload": "for root", "ExpiresIn": 60, "ReadOnce": True}
        parameters["id"] = ask("POST", "/api/notifications", order)["Id"]
        ask("GET", f"/api/notifications/{parameters['id']}")


def victim(id):
    """Returns a user that may be changed or deleted."""
    if id == "changeUser":
        return "victim"
    name = f"victim-{dice.getrandbits(64)}"
    ask("POST", "/api/users", {"Name": name, "Password": SITE["password"]})
    return name


@schemathesis.hook
def filter_body(context, body):
    """Skips other spellings of known members: the server ignores their case, which JSON Schema cannot express."""
    if not isinstance(body, dict):
        return True
    schemas = context.operation.schema.raw_schema["components"]["schemas"]
    known = {member for schema in schemas.values() for member in schema.get("properties", {})}
    spellings = {member.lower() for member in known}
    return all(member in known or member.lower() not in spellings for member in body)


@schemathesis.hook
def filter_query(context, query):
    """Skips a parameter without a name: the server ignores it like any unknown parameter."""
    return not query or "" not in query


@schemathesis.hook
def before_call(context, case, kwargs):
    # Random addresses, because the server would throttle one address after many wrong credentials.
    case.headers["X-Forwarded-For"] = ".".join(str(dice.randrange(1, 255)) for _ in range(4))
    if case.headers.get("Authorization", "").startswith("Basic U0NIRU1BVEhFU0lT"):
        # The credentials of schemathesis' check of wrong ones. One name would be throttled, too.
        wrong = f"nobody-{dice.getrandbits(64)}:wrong".encode()
        case.headers["Authorization"] = "Basic " + base64.b64encode(wrong).decode()
    # An inferred link may copy a number from an earlier answer.
    for field, value in case.headers.items():
        case.headers[field] = str(value)
    id = case.operation.definition.raw["operationId"]
    if case.method.upper() != case.operation.method.upper():
        # The server refuses an invalid `Accept-Signature` before it checks the method.
        case.headers.pop("Accept-Signature", None)
    is_right = case.meta is None or case.meta.generation.mode.is_positive
    if is_right:
        complete(id, case)
    if case.path_parameters and (is_right or str(case.path_parameters.get("id")).lower() in KEPT_NAMES | KEPT_PREFIXES):
        aim(id, case.path_parameters)


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.definition.raw["operationId"] == "changeOwnPassword" and response.status_code == 204:
        # Restores the password that the next request names as the current one.
        ask("PATCH", "/api/users/carol", {"Password": SITE["password"]})
