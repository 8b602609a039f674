"""What schemathesis cannot read from the document: which users, devices and platforms there are, and whose credentials to show.

Only requests that shall be right are filled in with what is stored; the wrong ones are schemathesis' own affair. No request may
take away what the others need.
"""

import base64
import collections.abc
import datetime
import http.client
import json
import os
import pathlib
import random
import urllib.parse

import schemathesis

SITE = json.loads(os.environ["SEALPOST_SITE"])
COMMON = (pathlib.Path(__file__).parent.parent.parent / "Sources/PushCore/CommonPasswords.txt").read_text().split()
KEPT_NAMES = {name.lower() for name in SITE["tokens"]}
KEPT_PREFIXES = {token[:12] for token in SITE["tokens"].values()}
# Apart from what schemathesis draws, which these decisions shall not change.
dice = random.Random(SITE["seed"])
connection = http.client.HTTPConnection("127.0.0.1", SITE["port"], timeout=60)


def ask(method, path, body=None, user="root"):
    """A request of our own. What was answered."""
    authorization = {"Authorization": f"Bearer {SITE['tokens'][user]}"}
    connection.request(method, path, json.dumps(body) if body is not None else None, authorization)
    text = connection.getresponse().read()
    return json.loads(text) if text else None


# MARK: Who calls

# Whose devices nobody sends to, as there will be thousands; who has one to test; whose password may change.
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
            # With the password, as a session begins.
            return "Basic " + base64.b64encode(f"root:{SITE['password']}".encode()).decode()
        if id == "endSession":
            return "Bearer " + ask("POST", "/api/tokens", {"User": "amy", "ExpiresIn": 600})["Token"]
        name = CALLERS.get(id, "root")
        # Most streams end at once as there is no device, or ten thousand would be waited for.
        if id == "openStream" and dice.random() < 0.04:
            name = "listener"
        if id == "listRegistrations" and dice.random() < 0.02:
            name = "registrar"
        return "Bearer " + SITE["tokens"][name]

    def set(self, case, data, context):
        case.headers["Authorization"] = data


# MARK: What there is


def name(_=None):
    return dice.choice(["amy", "Zoe"])


def term(depth=0):
    """A tag expression."""
    kind = dice.randrange(5) if depth < 3 else 0
    if kind == 1:
        return f"!{term(depth + 1)}"
    if kind in (2, 3):
        return f"({term(depth + 1)}{dice.choice(['||', ' || ', '&&', ' && '])}{term(depth + 1)})"
    return "topic:" + "".join(dice.choices("-abcXYZ019_@#.:", k=dice.randrange(1, 40)))


def expression(_=None):
    # Always to somebody who has few devices: a broadcast to all would be the outbox's test and not this one's.
    return dice.choice([f"username:{name()}", f"username:{name()} && {term()}"])


def platform(_=None):
    return dice.choice(["fcm", "gcm"])


def soon():
    """A time within some minutes, in one of the ways that RFC 3339 has."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=dice.randrange(600))
    zone = datetime.timezone(datetime.timedelta(minutes=dice.randrange(-720, 720)))
    return dice.choice([moment, moment.astimezone(zone)]).isoformat()


def endpoint(_=None):
    return f"https://push.example.com/{dice.getrandbits(64)}"


def point(_=None):
    return "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"


def password(names):
    """Makes a password of a text: not the user's name, nothing that is guessed first, such as eight zeros, and of 256 bytes
    at most."""
    bad = {*COMMON, *(str(name).lower() for name in names)}
    return lambda text: f"not {text[:50]}" if text.lower() in bad or len(text.encode()) > 256 else text


def fill(place, member, make):
    """Replaces the text that stands there, or each text in a list of it."""
    if not isinstance(place, collections.abc.MutableMapping):
        return
    if isinstance(place.get(member), list):
        place[member] = [make(element) if isinstance(element, str) else element for element in place[member]]
    elif isinstance(place.get(member), str):
        place[member] = make(place[member])


def complete(id, case):
    """Names what is there in a request that shall be right."""
    query, body = case.query or {}, case.body
    fill(query, "pns", platform)
    fill(query, "to_tag", name)
    # There is one app, and the configuration has no sandbox.
    fill(query, "app", lambda _: "default")
    for member in ("App", "Apps"):
        fill(body, member, lambda _: "default")
    fill(body, "Environment", lambda _: "production")
    # Or hardly any precondition would ever hold.
    fill(case.headers, "If-Match", lambda text: dice.choice([text, "*", "*"]))
    # Any object may have members of which its schema says nothing, and those are refused then.
    case.headers.pop("Prefer", None)
    if id in ("sendNotification", "sendNotifications"):
        orders = [body]
        if id == "sendNotifications" and isinstance(body, dict):
            orders = body.get("Notifications") if isinstance(body.get("Notifications"), list) else []
        for order in orders:
            fill(order, "To", expression)
            fill(order, "App", lambda _: "default")
            fill(order, "Platforms", platform)
            # Any time that has passed is good, and of those to come only thirty days.
            fill(order, "SendAt", lambda text: dice.choice([text, soon()]) if text < "2026" else soon())
            if isinstance(order, collections.abc.MutableMapping) and order.get("Alert") is not None:
                # The configuration lists what there may be.
                order["Alert"] = dice.choice(["appointment", {"Template": "appointment", "Badge": dice.randrange(10_000)}, {"Badge": 0}])
        # Another request under a key that is known would be refused.
        fill(case.headers, "Idempotency-Key", lambda text: dice.choice(['{}', '"{}"']).format(dice.getrandbits(128)))
    elif id == "listNotifications":
        if len(query) > 1:
            # It stands alone, which a schema of one parameter cannot say.
            query.pop("ids", None)
        # A cursor is of a user and of such lists.
        path = "/api/notifications?limit=1" + ("&unread=true" if str(query.get("unread")).lower() == "true" else "")
        # One of both, as they are one.
        if "cursor" in query:
            query.pop("since", None)
        for spelling in ("cursor", "since"):
            fill(query, spelling, lambda _: ask("GET", path, user="amy")["Cursor"])
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
    # An integer to JSON Schema, but no decimal digits.
    fill(case.headers, "MyToken", lambda text: "0" if text == "-0" else text)
    if "MyToken" not in case.headers:
        # A signature is over it: one field needs the other, which OpenAPI has no words for.
        case.headers.pop("Accept-Signature", None)
    names = [body.get("Name")] if isinstance(body, dict) else []
    # In a path they are percent-encoded.
    names += [urllib.parse.unquote(str(value)) for value in (case.path_parameters or {}).values()]
    for member in ("Password", "New"):
        fill(body, member, password([*names, *KEPT_NAMES]))


def aim(id, parameters):
    """Names something that is there instead of nothing, now and then; and never what the others need."""
    target = str(parameters.get("id"))
    if id in ("changeUser", "deleteUser") and (target.lower() in KEPT_NAMES or dice.random() < 0.2):
        parameters["id"] = victim(id)
    elif id == "deleteToken" and (target in KEPT_PREFIXES or dice.random() < 0.1):
        parameters["id"] = ask("POST", "/api/tokens", {"User": "amy", "ExpiresIn": 60})["Prefix"]
    elif id in ("register", "confirmRegistration") and dice.random() < 0.7:
        # One that was not issued is 410.
        parameters["id"] = ask("POST", "/api/register", user="registrar")
    elif id == "deleteDevice" and (target in (SITE["device"], SITE["stream"]) or dice.random() < 0.2):
        parameters["id"] = ask("POST", "/api/register")
    elif id == "testDevice" and dice.random() < 0.1:
        parameters["id"] = SITE["device"]
    elif id in ("joinTopic", "leaveTopic"):
        # Of any text some are reserved, and of many one is the sixty-first.
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
    """Somebody who may be changed, or deleted."""
    if id == "changeUser":
        return "victim"
    name = f"victim-{dice.getrandbits(64)}"
    ask("POST", "/api/users", {"Name": name, "Password": SITE["password"]})
    return name


@schemathesis.hook
def filter_body(context, body):
    """The server reads the names of members without regard to case, which JSON Schema cannot say."""
    if not isinstance(body, dict):
        return True
    schemas = context.operation.schema.raw_schema["components"]["schemas"]
    known = {member for schema in schemas.values() for member in schema.get("properties", {})}
    spellings = {member.lower() for member in known}
    return all(member in known or member.lower() not in spellings for member in body)


@schemathesis.hook
def filter_query(context, query):
    """A parameter without a name is ignored, as all are that the server does not know."""
    return not query or "" not in query


@schemathesis.hook
def before_call(context, case, kwargs):
    # A thousand wrong credentials would otherwise all come from one address, which would be told to wait.
    case.headers["X-Forwarded-For"] = ".".join(str(dice.randrange(1, 255)) for _ in range(4))
    # What an inferred link takes from an earlier answer may be a number.
    for field, value in case.headers.items():
        case.headers[field] = str(value)
    id = case.operation.definition.raw["operationId"]
    if case.method.upper() != case.operation.method.upper():
        # What is asked for wrongly is refused before anybody looks at the method.
        case.headers.pop("Accept-Signature", None)
    is_right = case.meta is None or case.meta.generation.mode.is_positive
    if is_right:
        complete(id, case)
    if case.path_parameters and (is_right or str(case.path_parameters.get("id")).lower() in KEPT_NAMES | KEPT_PREFIXES):
        aim(id, case.path_parameters)


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.definition.raw["operationId"] == "changeOwnPassword" and response.status_code == 204:
        # The next request names the same present password.
        ask("PATCH", "/api/users/carol", {"Password": SITE["password"]})
