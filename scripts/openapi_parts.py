"""What the operations of the OpenAPI document share: words, parameters, fields of answers, problems and schemas."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

DESCRIPTION = """\
Sealpost keeps what is secret at home and sends only a claim ticket through other people's networks: the payload is sealed
in a database, its number (`secureId`) goes out through APNs, FCM, WNS, Web Push or an event stream, and the device collects
the payload over an authenticated connection.

**Who calls.** Each call needs HTTP Basic or a bearer token, except where the operation says that anybody may. A user is a
`device`, a `publisher` or an `admin`, and each may do what those before it may; a token can do less, by its scopes `fetch`,
`send`, `register` and `manage`. Behind TLS with client certificates, or a proxy that signs people in, no credentials are sent.

**JSON.** The names of members are in PascalCase in answers, and compared without case in requests. Members that are not
known are ignored, and `null` is as good as leaving a member out. At most 64 levels are read.

**Strict handling.** With `Prefer: handling=strict` (RFC 7240) a request with a member or a query parameter that the operation
does not know is refused before it has any effect, with 400 `unknown-member` or `unknown-parameter`, whose `detail` names it.
The answers then have `Preference-Applied: handling=strict`. Without it, what is not known is ignored.

**Pages.** A list has at most `limit` entries, and `More` says whether there are others: they are on the page for which `cursor`
is the `Cursor` of this one. A cursor means something to its list only.

**Conditional and partial requests.** Every `GET` is also answered as `HEAD`. Where there is an `ETag`, `If-None-Match` and
the other preconditions of RFC 9110 hold. Ranges are not served.

**Browsers.** Any origin's page may use the routes that are for anybody. Everything else, and whatever changes something, is
for pages of the server's own origin and of those in its `server.allowedOrigins`: others' requests are 403 `cross-origin`, as
`Origin` and `Sec-Fetch-Site` tell them. To an allowed origin answers carry the fields of CORS, and each path answers `OPTIONS`
with `Access-Control-Request-Method` by 204, without credentials; any other `OPTIONS` is 405.

**Errors** are `application/problem+json` (RFC 9457); the codes are explained in `docs/errors.md`. What another user owns and
what is not there are one answer, 404. A fault in the HTTP itself is answered before any operation is looked for, with 400,
408, 413, 414, 417, 431, 501, 503 or 505. Where `server.names` is set, requests for other hosts are 421 `misdirected-request`.
"""

SECURITY = {
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "Name and password, RFC 7617 in UTF-8. The first colon divides; a password may have more.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "spt_ and 42 letters and digits, or a JSON Web Token of the configured issuer",
        "description": "A token from `POST /api/sessions` or `POST /api/tokens`, RFC 6750.",
    },
    "page": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-sealpost",
        "description": "The session of the console's page, from `POST /api/sessions` with `Cookie`. It counts only with the field `Page-Token`.",
    },
    "pageToken": {
        "type": "apiKey",
        "in": "header",
        "name": "Page-Token",
        "description": "What no page of another site can send with the cookie: its value is in the answers to `POST /api/sessions` and `GET /api/sessions/current`.",
    },
}

# MARK: Schemas

ID_MAXIMUM = 2**63 - 1
NAME = "^[-A-Za-z0-9_@#.]{1,100}$"
TAG = "^[-A-Za-z0-9_@#.:]{1,120}$"
PREFIX = "^spt_[0-9A-Za-z]{8}$"
TIME = {"type": "string", "format": "date-time", "examples": ["2026-11-22T08:30:00Z"]}


def ref(kind, name):
    return {"$ref": f"#/components/{kind}/{name}"}


def schema(name):
    return ref("schemas", name)


def time(description):
    return TIME | {"description": description}


def either(type, **rest):
    """The schema of a member that may as well be null."""
    return {"type": [type, "null"]} | rest


def thing(required, properties, **rest):
    return {"type": "object", "required": required, "properties": properties} | rest


def codes():
    """Every code of a problem with its status and its title, as the server has them."""
    text = (ROOT / "Sources/PushAPI/ProblemCode.swift").read_text()
    names = dict(re.findall(r'case (\w+) = "([a-z-]+)"', text))
    statuses = {}
    for cases, status in re.findall(r"case ((?:\.\w+(?:, )?)+): (\d{3})\n", text):
        statuses |= {case.strip()[1:]: int(status) for case in cases.split(",")}
    titles = dict(re.findall(r'case \.(\w+): "(.+)"\n', text))
    return [(name, statuses[case], titles[case]) for case, name in names.items()]


CODES = codes()

SCHEMAS = {
    "Problem": thing(
        ["type", "title", "status", "instance"],
        {
            "type": {
                "type": "string",
                "description": "`urn:sealpost:problem:` and the code, which programs may rely on. It is not meant to be fetched.",
                "enum": [f"urn:sealpost:problem:{name}" for name, _, _ in CODES],
            },
            "title": {"type": "string", "description": "A text for humans, always the same for a code.", "enum": [title for _, _, title in CODES]},
            "status": {"type": "integer", "description": "The status of the answer.", "enum": sorted({status for _, status, _ in CODES})},
            "detail": {"type": "string", "description": "What was wrong this time, for humans."},
            "instance": {"type": "string", "description": "The request's id, which is also in `X-Request-Id` and in the server's log.", "pattern": "^[A-Za-z0-9_-]{1,128}$"},
        },
        description="An error, RFC 9457.",
    ),
    "NotificationId": {
        "type": "integer", "format": "int64", "minimum": 1, "maximum": ID_MAXIMUM,
        "description": "The number of a notification: random, never given out twice, and what a push carries as `secureId`. Below 2^31 unless the server is configured otherwise.",
        "examples": [1202590843],
    },
    "Payload": {
        "type": ["string", "number", "boolean", "object", "array"],
        "description": "The secret: a string, or any other JSON value but null. It comes out as it went in, digits and order of members included; at most 65,536 bytes of JSON text.",
        "examples": ["Your test result is in."],
    },
    "Notification": thing(
        ["Id", "Payload", "Read", "CreatedAt", "ExpiresAt"],
        {
            "Id": schema("NotificationId"),
            "Payload": schema("Payload"),
            "Read": {"type": "boolean", "description": "Whether its recipient has said that it was read."},
            "CreatedAt": time("When it was accepted."),
            "ExpiresAt": time("When the payload is erased."),
            "Store": {"const": "never", "description": "There if the client must not write the payload down."},
            "ReadOnce": {"const": True, "description": "There if the payload is erased soon after it was fetched, or when its arrival is confirmed."},
        },
        description="A notification as its recipient collects it.",
    ),
    "ListedNotification": {
        "description": "A notification in a list. One that may be read once comes without its payload.",
        "anyOf": [schema("Notification"), schema("OnceNotification")],
    },
    "OnceNotification": thing(
        ["Id", "Read", "CreatedAt", "ExpiresAt", "ReadOnce"],
        {
            "Id": schema("NotificationId"), "Read": {"type": "boolean"}, "CreatedAt": time("When it was accepted."),
            "ExpiresAt": time("When the payload is erased."), "ReadOnce": {"type": "boolean", "const": True},
        },
        description="A notification whose payload is erased soon after it was fetched, by itself.",
    ),
    "ReadMark": thing(["Read"], {"Read": {"type": "boolean"}}, description="Whether it was read.", examples=[{"Read": True}]),
    "ReadOrder": thing(
        ["Ids"], {"Ids": {"type": "array", "minItems": 1, "maxItems": 500, "items": schema("NotificationId")}},
        description="The numbers of notifications.", examples=[{"Ids": [7, 9, 12]}],
    ),
    "ReadList": thing(["Read"], {"Read": {"type": "array", "items": schema("NotificationId")}}, description="The numbers of notifications."),
    "NotificationList": thing(
        ["Notifications", "Deleted", "More"],
        {
            "Notifications": {"type": "array", "maxItems": 500, "items": schema("ListedNotification"), "description": "The oldest change first."},
            "Deleted": {"type": "array", "items": schema("NotificationId"), "description": "What was dismissed or recalled since the cursor, or was read and could be read once. What expires is not in it."},
            "Cursor": schema("Cursor"),
            "More": {"type": "boolean", "description": "Whether there is more after `Cursor`."},
        },
        description="What a device has missed. There is no `Cursor` if `ids` were asked for.",
    ),
    "Cursor": {"type": "string", "pattern": "^[-A-Za-z0-9_]{21}[AQgw]$", "description": "Where a list ended; it means something to its user only."},
    "SignatureKeys": thing(
        ["keys"],
        {"keys": {"type": "array", "minItems": 1, "items": thing(
            ["kty", "crv", "kid", "x", "alg", "use"],
            {
                "kty": {"const": "OKP"}, "crv": {"const": "Ed25519"},
                "kid": {"type": "string", "pattern": "^[-A-Za-z0-9_]{43}$", "description": "The key's thumbprint, RFC 7638."},
                "x": {"type": "string", "pattern": "^[-A-Za-z0-9_]{43}$", "description": "The public key."},
                "alg": {"const": "EdDSA"}, "use": {"const": "sig"},
            },
        )}},
        description="A JSON Web Key Set (RFC 7517, RFC 8037).",
    ),
    "SentNotification": thing(
        [
            "Id", "Read", "CreatedAt", "SendAt", "ExpiresAt", "App", "To", "Platforms", "Priority", "CollapseKey", "Store", "ReadOnce",
            "Alert",
            "Recipients", "Pushes", "More",
        ],
        {
            "Id": schema("NotificationId"),
            "Read": {"type": "boolean", "const": False},
            "CreatedAt": time("When it was accepted."),
            "SendAt": {"type": ["string", "null"], "format": "date-time", "description": "When it is sent, as the order has it in UTC; null: at once."},
            "ExpiresAt": time("When the payload is erased."),
            "To": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string"}, "description": "The tag expressions, with the parentheses that they need only."},
            "App": {"type": "string"},
            "Platforms": {"type": ["array", "null"], "items": {"type": "string"}, "description": "The platforms; null for all, where there is one app."},
            "Priority": {"enum": ["high", "normal"]},
            "CollapseKey": either("string"),
            "Store": {"enum": ["cacheable", "never"]},
            "ReadOnce": {"type": "boolean"},
            "Alert": {"description": "The alert as requested; null: pushes show the sender's constants.", "anyOf": [schema("Alert"), {"type": "null"}]},
            "Recipients": either("integer", minimum=0, description="How many users are recipients; null if that is not known yet."),
            "Pushes": either("integer", minimum=0, description="How many devices are pushed to; null if that is not known yet."),
            "More": {"type": "boolean", "description": "Whether the server has yet to look for devices, since it is sent later, or still looks for those of a broadcast: then `Recipients` and `Pushes` are null, and `GET /api/notifications/{id}/deliveries` counts."},
        },
        description="What was accepted, without the payload: the options in force, and how many it reaches. A request that is repeated with its `Idempotency-Key` has the same answer, and so the numbers of the first.",
    ),
    "Alert": {
        "description": "What pushes show before the payload is fetched, or where it is not: the name of a template, or single values, which take the place of the template's. Each value is one that the server's configuration lists (`alerts`): 400 `alert-not-allowed` if not. An unknown member is 400 `invalid-member`. `Badge` alone changes the number on the app's icon and shows nothing.",
        "anyOf": [
            {"type": "string", "description": "The name of a template.", "examples": ["appointment"]},
            {
                "type": "object", "minProperties": 1, "additionalProperties": False,
                "properties": {
                    "Template": either("string", description="The name of a template."),
                    "TitleKey": either("string", description="The name of the title among the app's texts."),
                    "BodyKey": either("string", description="The name of the text among the app's texts."),
                    "Category": either("string", description="Apple: which actions it has."),
                    "Thread": either("string", description="Apple: what it is grouped with."),
                    "Sound": either("string", description="The name of a sound that the app has, or `default`."),
                    "Channel": either("string", description="Android: the notification channel."),
                    "InterruptionLevel": {"enum": ["passive", "active", "time-sensitive", None], "description": "Apple: how it interrupts."},
                    "Badge": either("integer", minimum=0, maximum=9999, description="The number on the app's icon; 0 removes it."),
                },
            },
        ],
        "examples": ["appointment", {"Template": "appointment", "Badge": 3}, {"Badge": 0}],
    },
    "NotificationOrder": thing(
        ["Payload"],
        {
            "App": schema("App"),
            "Payload": schema("Payload"),
            "To": either(
                "array", minItems=1, maxItems=20,
                items={"type": "string", "pattern": "^[-A-Za-z0-9_@#.:!&|() ]+$", "examples": ["username:alice", "news && !(beta || username:bob)"]},
                description="Tag expressions of `&&`, `||`, `!` and parentheses, with at most 20 tags each; devices that match any of them are sent to. `username:` and a name means a user. The caller, if it is left out; a device can only send to itself.",
            ),
            "Platforms": either("array", items=schema("Platform"), description="Only devices on these platforms of the app are pushed to; all, if it is left out."),
            "SendAt": {"type": ["string", "null"], "format": "date-time", "description": "When it is sent, at most 30 days ahead, in RFC 3339 with its zone: until then no recipient sees it, and its sender takes it back with `DELETE`. Who is a recipient is decided then. A time that has passed means now.", "examples": ["2026-11-22T08:30:00+01:00"]},
            "ExpiresIn": either("integer", minimum=1, maximum=2592000, description="Seconds from the sending until the payload is erased and pushes end. The server may be configured to a lower maximum."),
            "Priority": {"enum": ["high", "normal", None], "default": "high", "description": "How urgent the push is, for providers that tell."},
            "CollapseKey": either("string", pattern="^[!-~]{1,64}$", description="A newer notification with the same key replaces an older one that has not been delivered. Providers see only a keyed hash of it."),
            "Store": {"enum": ["cacheable", "never", None], "default": "cacheable", "description": "`never`: no cache may keep the answer that has the payload."},
            "ReadOnce": either("boolean", default=False, description="Whether the payload is erased when all recipients have fetched it: each a minute after the first fetch, or when the recipient confirms."),
            "Alert": {"description": "What its pushes show; by default the constants of their sender.", "anyOf": [schema("Alert"), {"type": "null"}]},
        },
        description="A notification in its full form.",
        examples=[{"Payload": {"Code": "493 021"}, "To": ["username:alice"], "ExpiresIn": 300, "Store": "never", "ReadOnce": True}],
    ),
    "NotificationBatch": thing(
        ["Notifications"],
        {"Notifications": {"type": "array", "minItems": 1, "maxItems": 500, "items": {
            "anyOf": [schema("NotificationOrder"), {"description": "Anything else is refused by itself, among the outcomes."}],
        }}},
        description="Notifications, each in its full form.",
        examples=[{"Notifications": [{"Payload": "Your code is 493 021."}, {"Payload": {"Code": "112 904"}, "ReadOnce": True}]}],
    ),
    "BatchOutcomes": thing(
        ["Outcomes"],
        {"Outcomes": {"type": "array", "minItems": 1, "maxItems": 500, "items": {"anyOf": [
            {
                "description": "The notification was accepted.",
                "allOf": [schema("SentNotification"), thing(["Status"], {"Status": {"type": "integer", "const": 201}})],
            },
            thing(
                ["Status", "Problem"],
                {"Status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The status that a single post would have had."}, "Problem": schema("Problem")},
                description="The notification was refused, and the others were not for that.",
            ),
        ]}}},
        description="What became of each notification, in the order of the request.",
    ),
    "Platform": {
        "type": "string", "minLength": 1,
        "description": "The name of a sender in the server's configuration, such as `apns`, `fcm`, `wns`, `webpush` or `stream`. `gcm` is `fcm` under its old name.",
        "examples": ["apns"],
    },
    "RegistrationId": {
        "type": "string", "pattern": "^[-A-Za-z0-9_.]{1,128}$", "not": {"enum": [".", ".."]},
        "description": "Names one registration of a device. `POST /api/register` makes one of 128 random bits.",
        "examples": ["9f86d081884c7d659a2feaa0c55ad015"],
    },
    "Handle": {
        "type": "string", "pattern": "^[!-~]{1,4096}$",
        "description": "The device's address at its provider: a device token of APNs, a registration token of FCM, a channel of WNS. What is hexadecimal is compared without case.",
        "examples": ["0f744707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"],
    },
    "Tags": either(
        "array", maxItems=60,
        items={"type": "string", "pattern": TAG, "not": {"pattern": "^([Uu][Ss][Ee][Rr][Nn][Aa][Mm][Ee]|[Ff][Rr][Oo][Mm]):"}},
        description="Topics that the device joins; compared without case. Every user may join any topic: for what only some may read, users are given tags (`PUT /api/users/{id}/tags`). The tag `username:` and the user's name is added by the server, and no device may give itself a tag that begins with `username:`, `from:` or another prefix of the configuration's `tags.reserved`, by default `role:`; with `tags.open: false` it may give itself none.",
        examples=[["news", "region:eu"]],
    ),
    "Shared": either(
        "boolean",
        description="True on a device that several accounts use: the registrations of other accounts with the same handle stay in place, and each push has an `accountHint` that only the account's app can tell from noise. Otherwise the handle moves to this account, from all others that have it. A device of the platform `stream` shares nothing.",
        examples=[True],
    ),
    "App": {
        "type": ["string", "null"], "pattern": "^[-a-z0-9_]{1,64}$",
        "description": "One of the apps that the server sends for and that the account belongs to; by default the account's only one, or `default`.",
        "examples": ["bank"],
    },
    "Apps": {
        "type": "array", "items": {"type": "string", "pattern": "^[-a-z0-9_]{1,64}$"},
        "description": "The apps that the user belongs to: whose devices it registers, and whose notifications it sends and collects. Administrators belong to all.",
        "examples": [["default"]],
    },
    "Environment": {
        "type": ["string", "null"], "enum": ["production", "sandbox", None],
        "description": "`sandbox` for builds that Xcode has installed on an Apple device, whose tokens only Apple's sandbox knows, where the platform has it enabled. A device whose token turns out to be of the other environment is moved there.",
        "examples": ["sandbox"],
    },
    "DeviceRegistration": {
        "description": "A device and its address. Which form holds is for the platform to say.",
        "anyOf": [schema("ProviderRegistration"), schema("BrowserRegistration"), schema("StreamRegistration")],
    },
    "ProviderRegistration": thing(
        ["Platform", "Handle"],
        {"App": schema("App"), "Platform": schema("Platform"), "Environment": schema("Environment"), "Handle": schema("Handle"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A device that a provider delivers to. It must be a handle as that provider gives them out.",
        examples=[{"Platform": "apns", "Handle": "0f744707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad", "Tags": ["news"]}],
    ),
    "BrowserRegistration": thing(
        ["Platform", "Handle"],
        {"App": schema("App"), "Platform": {"type": "string", "const": "webpush"}, "Handle": schema("PushSubscription"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A browser. Its handle may as well be the text of that object.",
    ),
    "ConfirmationCode": {
        "type": "string", "minLength": 1,
        "description": "What was pushed to the handle as `confirmation`.",
        "examples": ["3d0c9fb1a8e54f27b6c2d1907f4ea835"],
    },
    "StreamRegistration": thing(
        ["Platform"],
        {"App": schema("App"), "Platform": {"type": "string", "const": "stream"}, "Handle": either("string"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A device that holds `GET /api/stream` open. It needs no handle, and one that it gives is not kept.",
        examples=[{"Platform": "stream"}],
    ),
    "PushSubscription": thing(
        ["endpoint", "keys"],
        {
            "endpoint": {"type": "string", "pattern": "^https://", "description": "A URL at one of the hosts that the configuration allows.", "examples": ["https://push.example.com/send/dK5vV0W"]},
            "keys": thing(
                ["p256dh", "auth"],
                {
                    "p256dh": {"type": "string", "pattern": "^[-A-Za-z0-9_]{87}=?$", "description": "An uncompressed point on P-256 in base64url."},
                    "auth": {"type": "string", "pattern": "^[-A-Za-z0-9_]{21}[AQgw](==)?$", "description": "16 bytes in base64url."},
                },
            ),
        },
        description="`JSON.stringify(subscription)` of a page, W3C Push API.",
        examples=[{"endpoint": "https://push.example.com/send/dK5vV0W", "keys": {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}}],
    ),
    "Device": thing(
        ["Id", "App", "Platform", "Environment", "Handle", "Tags", "Shared", "CreatedAt", "LastPush"],
        {
            "Id": schema("RegistrationId"),
            "App": {"type": "string"},
            "Platform": {"type": "string"},
            "Environment": {"type": ["string", "null"], "enum": ["production", "sandbox", None], "description": "The environment of its handle, which may be another than it has registered; null for one that has moved to another account."},
            "Handle": {"type": "string", "description": "Only its ends, enough to tell one's own devices apart.", "examples": ["0f74…78ad"]},
            "Tags": {"type": "array", "items": {"type": "string"}, "description": "In lower case, with the server's own."},
            "Shared": {"type": "boolean", "description": "Whether other accounts may have its handle, too."},
            "CreatedAt": time("When the registration was made."),
            "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to its handle. With PostgreSQL, further ones within a minute leave it as it is, unless `interval` paces them."},
            "RetiredAt": time("When another account registered its handle; without it the device is registered."),
            "Reason": {"type": "string", "description": "Why it is not registered any more; comes with `RetiredAt`."},
        },
        description="A registered device of the caller's, or one that has moved to another account.",
    ),
    "DeviceList": thing(
        ["Devices", "Cursor", "More"],
        {
            "Devices": {"type": "array", "maxItems": 500, "items": thing(
                ["Id", "User", "State", "App", "Platform", "Environment", "Handle", "Tags", "CreatedAt", "RegisteredAt", "LastPush", "LastFetch", "RetiredAt", "Reason"],
                {
                    "Id": schema("RegistrationId"), "User": schema("Username"),
                    "State": {"enum": ["requested", "registered", "retired"], "description": "`requested` until the device registers under its id; `retired` when the id cannot be used any more."},
                    "App": either("string", description="Null unless the device is registered."),
                    "Platform": either("string", description="Null unless the device is registered, as are its handle and tags."),
                    "Environment": {"type": ["string", "null"], "enum": ["production", "sandbox", None], "description": "The environment of its handle."},
                    "Handle": either("string", description="Only its ends."),
                    "Tags": {"type": "array", "items": {"type": "string"}, "description": "In lower case, with the server's own."},
                    "CreatedAt": time("When the id was issued."),
                    "RegisteredAt": {"type": ["string", "null"], "format": "date-time", "description": "When the device last registered."},
                    "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to its handle. With PostgreSQL, further ones within a minute leave it as it is, unless `interval` paces them."},
                    "LastFetch": {"type": ["string", "null"], "format": "date-time", "description": "When the user last collected, with whichever device, one of the latest 20 notifications of the user's list; null if none of them was collected."},
                    "RetiredAt": {"type": ["string", "null"], "format": "date-time"},
                    "Reason": either("string", description="Why the registration was retired."),
                },
            )},
            "Cursor": {"anyOf": [schema("DeviceCursor"), {"type": "null"}], "description": "Null if there is no device."},
            "More": {"type": "boolean", "description": "Whether there are more after the last one."},
        },
        description="A page of devices in the order in which their ids were issued.",
    ),
    "DeviceCursor": {"type": "string", "pattern": "^[0-9]{1,15}\\.[1-9][0-9]{0,17}$", "description": "Where a list of devices ended."},
    "DeviceTest": thing(
        ["Device", "State", "Reason"],
        {
            "Device": schema("RegistrationId"),
            "State": {"enum": ["accepted", "queued", "failed"], "description": "`queued` where the provider has not answered, or will be asked again."},
            "Reason": either("string", description="What the provider said, where it did not accept the push."),
        },
        description="What came of a test push.",
    ),
    "Deliveries": thing(
        ["SendAt", "Counts", "Counted", "Deliveries", "Cursor", "More"],
        {
            "SendAt": {"type": ["string", "null"], "format": "date-time", "description": "When it will be sent, as long as it is scheduled."},
            "Counts": thing(
                ["queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled"],
                {state: {"type": "integer", "minimum": 0} for state in ("queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled")},
                description="How many pushes are in each state.", additionalProperties=False,
            ),
            "Counted": {"enum": ["all", "part"], "description": "`part`: `Counts` are of a part of the pushes; ask again with `counts=part` until it is `all`."},
            "Deliveries": {"type": "array", "items": schema("Delivery")},
            "Cursor": {"type": "string", "pattern": "^[0-9]{1,19}$", "description": "What `cursor` is set to for the next page."},
            "More": {"type": "boolean", "description": "Whether there is a next page."},
        },
        description="A page of what became of a notification's pushes, and the counts of all of them.",
    ),
    "EventList": thing(
        ["Events", "Cursor", "More", "Truncated"],
        {
            "Events": {"type": "array", "maxItems": 500, "items": schema("Event")},
            "Cursor": {"type": "string", "pattern": "^[0-9]{1,19}$", "description": "What `cursor` is set to for what comes after these events; also after the last page."},
            "More": {"type": "boolean", "description": "Whether there is a next page now."},
            "Truncated": {"type": "boolean", "description": "Whether events after `cursor` were deleted for their age before they were asked for, so that some may be missing here."},
        },
        description="A page of events, the oldest first.",
    ),
    "Event": thing(
        ["Number", "At", "Kind", "Notification", "Device", "User", "App", "Platform", "Reason"],
        {
            "Number": {"type": "integer", "format": "int64", "minimum": 1, "description": "Rises with each event, with gaps, and is given out once."},
            "At": time("When it happened."),
            "Kind": {"enum": ["accepted", "failed", "expired", "cancelled", "collected", "retired"], "description": "What became of a push: the provider has accepted it, refused it for good, or not accepted it before it expired, or it is no longer needed; or `collected`: a user has fetched a notification for the first time; or `retired`: a registration has ended."},
            "Notification": {"anyOf": [schema("NotificationId"), {"type": "null"}], "description": "Null for `retired`."},
            "Device": either("string", description="The registration's id; null for `collected`, and where it is gone."),
            "User": either("string", description="Whose device it is, or who has fetched; null where the user is gone."),
            "App": either("string", description="The app of the device; null where there is none."),
            "Platform": either("string", description="The device's platform; null for `collected`."),
            "Reason": either("string", description="Why it was refused, cancelled or retired."),
        },
        description="What became of a push, a notification or a registration.",
    ),
    "Delivery": thing(
        ["Device", "User", "App", "Platform", "State", "Attempts", "UpdatedAt", "Reason"],
        {
            "Device": either("string", description="The registration's id; null where it is gone."),
            "User": either("string", description="Whose device it is; null where the user is gone."),
            "App": {"type": "string"},
            "Platform": {"type": "string"},
            "State": {"enum": ["queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled"], "description": "How far the push has come."},
            "Attempts": {"type": "integer", "minimum": 0, "description": "How often it was tried."},
            "UpdatedAt": {"type": ["string", "null"], "format": "date-time"},
            "Reason": either("string", description="Why it came no further."),
        },
        description="One push to one device.",
    ),
    "Username": {
        "type": "string", "pattern": NAME,
        "description": "The name of a user; compared without case.", "examples": ["alice"],
    },
    "Role": {"enum": ["device", "publisher", "admin"], "description": "What a user may do; each role may do what those before it may."},
    "Scopes": either(
        "array", minItems=1, items={"enum": ["fetch", "send", "register", "manage"]},
        description="What the token is good for; without it, all that the user's role may do except `manage`, which is for administrators and must be named.",
    ),
    "GivenScopes": {"type": "array", "items": {"enum": ["fetch", "send", "register", "manage"]}, "uniqueItems": True, "description": "What the token is good for."},
    "Password": {
        "type": "string", "format": "password", "minLength": 8, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f]*$",
        "description": "8 characters to 256 bytes of UTF-8, without control characters. None of the five thousand most common ones, and not the user's name.",
        "examples": ["correct horse battery"],
    },
    "SessionOrder": thing(
        [], {
            "Scopes": schema("Scopes"),
            "ExpiresIn": either("integer", minimum=1, maximum=7776000, description="Seconds for which the token is good. The server may be configured to another maximum."),
            "Cookie": either("boolean", description="Whether the token is to be in a cookie and not in the answer, for a page; then it is by default good for all that the role may do, for twelve hours at the most."),
        },
        description="What a session shall be good for.", examples=[{"Scopes": ["fetch", "register"], "ExpiresIn": 86400}],
    ),
    "AccountId": {"type": "string", "pattern": "^[-A-Za-z0-9_]{21}[AQgw]$", "description": "The opaque identifier of an account, as `Sealpost-Account` has it."},
    "Session": thing(
        ["Name", "Account", "Token", "ExpiresAt", "Scopes"],
        {"Name": schema("Username"), "Account": schema("AccountId"), "Token": schema("Token"), "ExpiresAt": time("When the token ends."), "Scopes": schema("GivenScopes")},
        description="Whose session it is, and its token, which is shown only here.",
    ),
    "EnrolmentOrder": thing(
        [], {
            "Scopes": schema("Scopes"),
            "ExpiresIn": either("integer", minimum=60, maximum=86400, default=900, description="Seconds in which the code may be used."),
        },
        description="What the token shall be good for that a code gives.", examples=[{"ExpiresIn": 3600}],
    ),
    "EnrolmentCode": thing(
        ["Code", "ExpiresAt", "Scopes"],
        {
            "Code": {"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$", "description": "A secret that works once; the case of letters, dashes and blanks do not count."},
            "ExpiresAt": time("When the code ends."), "Scopes": schema("GivenScopes"),
        },
        description="A code, which is shown only here.",
    ),
    "Enrolment": thing(
        ["Code"], {"Code": {"type": "string", "description": "The code, in any spelling."}},
        description="The code of a user.", examples=[{"Code": "7K3QM-0XW9T-5ZJ4R-B8N2D-VH6PC"}],
    ),
    "EnrolledSession": thing(
        ["Name", "Account", "Token", "ExpiresAt", "Scopes"],
        {"Name": schema("Username"), "Account": schema("AccountId"), "Token": schema("Token"), "ExpiresAt": time("When the token ends."), "Scopes": schema("GivenScopes")},
        description="Whose device it is, and its token, which is shown only here.",
    ),
    "SessionView": thing(
        ["Name", "Account", "Role", "Scopes", "ExpiresAt", "PageToken"],
        {
            "Name": schema("Username"), "Account": schema("AccountId"), "Role": {"enum": ["device", "publisher", "admin"]}, "Scopes": schema("GivenScopes"),
            "ExpiresAt": either("string", format="date-time", description="When the session ends; null for a caller without a token."),
            "PageToken": either("string", pattern="^[0-9a-f]{32}$", description="What the page sends as `Page-Token`; null for a caller without a cookie."),
        },
        description="Who calls, and what the caller may do.",
    ),
    "Token": {"type": "string", "pattern": "^spt_[0-9A-Za-z]{42}$", "description": "A secret that stands for a user, for `Authorization: Bearer`."},
    "TokenPrefix": {"type": "string", "pattern": PREFIX, "description": "The beginning of a token, by which it is listed and revoked.", "examples": ["spt_0Abc4Def"]},
    "TokenOrder": thing(
        ["User"], {
            "User": schema("Username"),
            "Scopes": schema("Scopes"),
            "ExpiresIn": either("integer", minimum=1, maximum=31536000, description="Seconds for which the token is good."),
        },
        description="A token for any user.", examples=[{"User": "alice", "Scopes": ["send"], "ExpiresIn": 31536000}],
    ),
    "NewToken": thing(
        ["Token", "Prefix", "ExpiresAt", "Scopes"],
        {"Token": schema("Token"), "Prefix": schema("TokenPrefix"), "ExpiresAt": time("When it ends."), "Scopes": schema("GivenScopes")},
        description="A token, which is shown only here.",
    ),
    "TokenList": thing(
        ["Tokens", "Cursor", "More"],
        {
            "Tokens": {"type": "array", "maxItems": 500, "items": thing(
                ["Prefix", "User", "Session", "Scopes", "CreatedAt", "ExpiresAt", "LastUse", "AuditId"],
                {
                    "Prefix": schema("TokenPrefix"), "User": schema("Username"),
                    "Session": {"type": "boolean", "description": "Whether it was got with the password, at the beginning of a session."},
                    "Scopes": schema("GivenScopes"), "CreatedAt": time("When it was made."), "ExpiresAt": time("When it ends."),
                    "LastUse": {"type": ["string", "null"], "format": "date-time", "description": "When it was last used, to some minutes."},
                    "AuditId": {"type": "string", "description": "What stands for the token in the audit, also when it is gone."},
                },
            )},
            "Cursor": {"anyOf": [schema("TokenPrefix"), {"type": "null"}], "description": "What `cursor` is set to for the next page; null if there is no token."},
            "More": {"type": "boolean", "description": "Whether there are more after the last one."},
        },
        description="A page of tokens in the order of their prefixes.",
    ),
    "UserOrder": thing(
        ["Name"],
        {"Name": schema("NewUsername"), "Password": schema("Password"), "WithoutPassword": either("boolean", description="The user gets no password: either this or `Password`."), "Role": {"enum": ["device", "publisher", "admin", None], "default": "device"}, "Apps": {"anyOf": [schema("Apps"), {"type": "null"}], "default": ["default"]}},
        anyOf=[
            {"required": ["Password"], "properties": {"WithoutPassword": {"enum": [False, None]}}},
            {"required": ["WithoutPassword"], "properties": {"WithoutPassword": {"enum": [True]}}, "not": {"required": ["Password"]}},
        ],
        description="A user that is to be.", examples=[{"Name": "alice", "Password": "correct horse battery", "Role": "device"}],
    ),
    "NewUsername": {"type": "string", "pattern": NAME, "not": {"enum": [".", ".."]}, "description": "A name that no user has yet.", "examples": ["alice"]},
    "NewUser": thing(["Name", "Role", "Apps"], {"Name": schema("Username"), "Role": schema("Role"), "Apps": schema("Apps")}, description="A user that was made."),
    "UserChange": thing(
        [], {
            "Role": {"enum": ["device", "publisher", "admin", None]},
            "Apps": {"anyOf": [schema("Apps"), {"type": "null"}], "description": "Devices of apps that the user leaves are retired."},
            "Password": {"anyOf": [schema("Password"), {"type": "null"}], "description": "Another password ends the user's sessions."},
            "Disabled": either("boolean", description="A disabled user is refused like nobody, at once."),
        },
        description="What shall be other about a user.", examples=[{"Disabled": True}],
    ),
    "User": thing(
        ["Name", "Role", "Apps", "Tags", "CreatedAt", "Disabled", "HasPassword", "LastPush", "LastFetch"],
        {"Name": schema("Username"), "Role": schema("Role"), "Apps": schema("Apps"), "Tags": {"type": "array", "items": {"type": "string", "pattern": TAG}, "description": "The tags that the user was given."}, "CreatedAt": time("When the user was made."), "Disabled": {"type": "boolean"}, "HasPassword": {"type": "boolean"}, "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to one of the 20 devices that the user has had the shortest."}, "LastFetch": {"type": ["string", "null"], "format": "date-time", "description": "As of a device: when the user last collected one of the latest 20 notifications of the user's list."}},
        description="A user.",
    ),
    "UserTags": thing(
        ["Tags"],
        {"Tags": {
            "type": "array", "maxItems": 60,
            "items": {"type": "string", "pattern": TAG, "not": {"pattern": "^([Uu][Ss][Ee][Rr][Nn][Aa][Mm][Ee]|[Ff][Rr][Oo][Mm]):"}},
            "description": "All tags of the user; compared without case, and listed in lower case.",
        }},
        description="The tags that a user was given.", examples=[{"Tags": ["board", "role:nurse"]}],
    ),
    "UserList": thing(
        ["Users", "Cursor", "More"],
        {"Users": {"type": "array", "maxItems": 500, "items": schema("User")}, "Cursor": {"anyOf": [schema("Username"), {"type": "null"}], "description": "What `cursor` is set to for the next page; null if there is no user."}, "More": {"type": "boolean", "description": "Whether there are more after the last one."}},
        description="A page of users in the order of their names.",
    ),
    "PasswordChange": thing(
        ["Current", "New"],
        {"Current": {"type": "string", "description": "The present password."}, "New": schema("Password")},
        description="The caller's present password and another one.",
    ),
    "Audit": thing(
        ["Entries", "Cursor", "More"],
        {
            "Entries": {"type": "array", "maxItems": 500, "items": thing(
                ["Number", "At", "Action", "Subject", "Detail", "Actor", "Token", "Client", "Request"],
                {
                    "Number": {"type": "integer", "minimum": 1, "description": "Counts up without gaps."},
                    "At": time("When it was done."),
                    "Action": {"type": "string", "pattern": "^[a-z]+\\.[a-z]+$", "examples": ["user.add"]},
                    "Subject": {"type": "string", "description": "What it was done to; the notifications of a batch that were stored together are named with blanks in between."},
                    "Detail": {"type": "string", "description": "How, where that is not clear from the action."},
                    "Actor": {"type": "string", "description": "Who did it; empty for the operator at the command line."},
                    "Token": {"type": "string", "description": "What stands for the token that was shown; empty where it was a password."},
                    "Client": {"type": "string", "description": "From which address."},
                    "Request": {"type": "string", "description": "The request's id."},
                },
            )},
            "Cursor": {"type": ["string", "null"], "pattern": "^[1-9][0-9]{0,18}$", "description": "What `cursor` is set to for the next page; null if there is no entry."},
            "More": {"type": "boolean", "description": "Whether there are older ones, or, of a search, some that were not looked at."},
            "Searched": {"type": "integer", "minimum": 0, "maximum": 5000, "description": "How many entries a search has looked at; absent without one."},
        },
        description="Who did what, the newest first.",
    ),
    "Health": thing(
        ["Status"],
        {
            "Status": {"enum": ["alive", "ready"]},
            "Warnings": {"type": "array", "items": {"type": "string"}, "description": "What an operator must look at although the server is ready; missing if there is nothing."},
        },
        description="That all is well.",
    ),
    "SetupOrder": thing(["Code", "Name", "Password"], {"Code": {"type": "string", "description": "From the link that the server has printed at its start."}, "Name": schema("NewUsername"), "Password": schema("Password")}, description="The first administrator.", examples=[{"Code": "00112233445566778899aabbccddeeff", "Name": "ada", "Password": "correct horse battery"}]),
    "Named": thing(["Name"], {"Name": schema("Username")}, description="A user."),
    "LaneOrder": thing(["Lane"], {"Lane": {"type": "string", "description": "The lane's name, as in `GET /api/status`."}}, description="A lane.", examples=[{"Lane": "apns"}]),
    "Status": thing(
        ["Version", "StartedAt", "Now", "Servers", "Nodes", "Troubles", "Lanes", "Scheduled", "Credentials", "History"],
        {
            "Version": {"type": "string", "description": "The version of the server."},
            "StartedAt": time("When the server started."), "Now": time("The server's time."),
            "Servers": {"type": "integer", "minimum": 0, "description": "How many servers share the database."},
            "Nodes": {"type": "array", "maxItems": 100, "description": "With PostgreSQL, the servers that share the database, and those that were gone within a day, last; else empty.", "items": thing(
                ["Name", "Version", "StartedAt", "HeardAt", "State", "IsThis"],
                {
                    "Name": {"type": "string", "description": "The machine and the process."}, "Version": {"type": "string", "description": "The version that it runs."},
                    "StartedAt": time("When it began, by the database's clock."),
                    "HeardAt": time("When it told last that it is alive, by the database's clock; of one that has ended in order, up to five seconds before."),
                    "State": {"enum": ["alive", "late", "gone"], "description": "`late`: it was silent for five seconds, and others are about to take over its pushes; `gone`: it has ended, or they have."},
                    "IsThis": {"type": "boolean", "description": "Whether it is the one that answers."},
                },
            )},
            "Troubles": {"type": "array", "items": {"type": "string"}, "description": "What keeps the server from storing or handing out, as in `GET /readyz`."},
            "Lanes": {"type": "array", "description": "The lanes of the server's senders, and those that have had pushes, by their names.", "items": thing(
                ["Name", "Pending", "OverdueSeconds", "OldestSeconds", "Accepted", "Failed", "Expired", "Cancelled", "Pause"],
                {
                    "Name": {"type": "string"}, "Pending": {"type": "integer", "description": "Pushes that have not ended."},
                    "OverdueSeconds": {"type": "integer", "minimum": 0, "description": "How long the oldest push that is due waits for somebody to send it."},
                    "OldestSeconds": {"type": "integer", "minimum": 0, "description": "How long ago the oldest notification was sent a push of which waits, be it due, be it put back for another attempt."},
                    "Accepted": {"type": "integer"}, "Failed": {"type": "integer"}, "Expired": {"type": "integer"}, "Cancelled": {"type": "integer"},
                    "Pause": {"anyOf": [thing(
                        ["Cause", "Reason", "Since", "Until"],
                        {
                            "Cause": {"enum": ["outage", "overloaded", "throttled", "misconfigured", "devices_refused"]},
                            "Reason": {"type": "string", "description": "In the provider's words."},
                            "Since": time("When it began."), "Until": time("When one push is tried."),
                        },
                    ), {"type": "null"}], "description": "The pause that the lane is in; null while all is well."},
                },
            )},
            "Scheduled": thing(["Count", "FirstDue"], {"Count": {"type": "integer", "minimum": 0}, "FirstDue": either("string", format="date-time")}, description="The notifications that wait for their `SendAt`."),
            "Credentials": {"type": "array", "items": thing(["Name", "ExpiresAt"], {"Name": {"type": "string"}, "ExpiresAt": time("When it ends.")}), "description": "The certificates and secrets that end, the nearest first; a revocation list on its last day."},
            "History": thing(
                ["Seconds", "End", "Posted", "Accepted", "Failed", "Fetched", "Pending"],
                {"Seconds": {"type": "integer", "description": "The length of a step."}, "End": time("When the last step ended.")}
                | {name: {"type": "array", "items": {"type": ["integer", "null"]}} for name in ("Posted", "Accepted", "Failed", "Fetched", "Pending")},
                description="The last hour in steps, the oldest first: notifications posted and payloads fetched at this server, pushes accepted and failed of all servers, and the pushes that had not ended at a step's end. Null where this server did not run.",
            ),
        },
        description="How the server is doing.",
    ),
    "WebPushKey": thing(["Key"], {"Key": {"type": "string", "pattern": "^[-A-Za-z0-9_]{87}$", "description": "An uncompressed point on P-256 in base64url."}}, description="What a page passes to `subscribe`."),
}

# MARK: Parameters


def parameter(name, place, schema, description, **rest):
    return {"name": name, "in": place, "description": description} | ({"required": True} if place == "path" else {}) | {"schema": schema} | rest


PARAMETERS = {
    "MyToken": parameter(
        "MyToken", "header", {"type": "integer", "minimum": 0, "maximum": 126322567},
        "A random number *n*. The answer has `MyToken` with *n* × 17 + 3, whatever its status, so that the client can tell it from one that something on the way has kept or made up.",
        example=4711,
    ),
    "RequestId": parameter(
        "X-Request-Id", "header", {"type": "string"},
        "Comes back as it is if it is 1 to 128 of `A-Za-z0-9_-`; otherwise the server makes one.", example="4f1c-17",
    ),
    "TraceParent": parameter(
        "traceparent", "header", {"type": "string"},
        "Names the trace that the request belongs to (W3C Trace Context), which the lines of the server's log then have, also those of the pushes that it leads to. What is not valid counts as none.",
        example="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
    "Prefer": parameter(
        "Prefer", "header", {"type": "string"},
        "With `handling=strict` the request is refused if it has a member or a query parameter that is not known (RFC 7240 section 4.4). All else that is preferred is ignored.",
        example="handling=strict",
    ),
    "IfNoneMatch": parameter(
        "If-None-Match", "header", {"type": "string"},
        "The `ETag` of the answer that the client has, or several of them: if that is still right, the answer is 304. What cannot be read matches nothing.",
        example='"1f0c3ab1d29e44bb8b4c3e0bb4f6a3d7"',
    ),
    "IfMatch": parameter(
        "If-Match", "header", {"type": "string"},
        "The `ETag` that must still be right, or several of them, or `*`; otherwise the answer is 412. What cannot be read matches nothing.",
        example='"1f0c3ab1d29e44bb8b4c3e0bb4f6a3d7"',
    ),
    "IfUnmodifiedSince": parameter(
        "If-Unmodified-Since", "header", {"type": "string"},
        "When it must have changed last; otherwise the answer is 412. Looked at only without `If-Match`; what is no date counts for nothing.",
        example="Sun, 22 Nov 2026 08:30:00 GMT",
    ),
    "AcceptEncoding": parameter(
        "Accept-Encoding", "header", {"type": "string"},
        "With `gzip`, a list of more than 1 KiB comes compressed, unless it is to be signed. What cannot be read asks for nothing.", example="gzip",
    ),
    "IfModifiedSince": parameter(
        "If-Modified-Since", "header", {"type": "string"},
        "The `Last-Modified` of the answer that the client has; looked at only without `If-None-Match`. What is no date counts for nothing.",
        example="Sun, 22 Nov 2026 08:30:00 GMT",
    ),
    "IdempotencyKey": parameter(
        "Idempotency-Key", "header", {"type": "string", "anyOf": [{"pattern": "^[!#-~][!-~]{0,254}$"}, {"pattern": '^"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}"$'}]},
        "1 to 255 visible characters of ASCII, in quotes or bare, which the client makes anew for each notification and keeps for its repetitions. Kept for 24 hours; the same key with another request is 422, and while the first is being answered 409.",
        example='"8e03978e-40d5-43e8-bc93-6894a57f9324"',
    ),
    "AcceptSignature": parameter(
        "Accept-Signature", "header", {"type": "string", "pattern": '^[a-z*][a-z0-9_.*-]{0,63}=\\("@status" "content-digest" "mytoken";req( "@method";req "@path";req "@query";req( "sealpost-account")?)?\\)(;keyid="[-A-Za-z0-9_]*")?$'},
        "Asks for an answer that is signed (RFC 9421) over its status and the digest of its body, and over the `MyToken` of the request, which must then be there, its method, path and query, and over the `Sealpost-Account` of the answer; on 304 the `ETag` stands in the place of the digest. Without method, path and query a signature is weaker: the answer to another request with the same `MyToken` fits, too. Without the account, so does the answer to another account's request. The order is free. An unknown `keyid` is as good as none. `no-store` is then the answer's `Cache-Control`.",
        example='sig=("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "sealpost-account")',
    ),
    "Limit": parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}, "How many entries a page has at most."),
    "NotificationId": parameter("id", "path", schema("NotificationId"), "The notification's number, as the push has it in `secureId`."),
    "RegistrationId": parameter("id", "path", schema("RegistrationId"), "The registration's id."),
    "Username": parameter("id", "path", schema("Username"), "The user's name, percent-encoded."),
    "TokenPrefix": parameter("id", "path", schema("TokenPrefix"), "The token's first twelve characters."),
}

# MARK: Answers


def header(schema, description, required=False):
    return {"description": description} | ({"required": True} if required else {}) | {"schema": schema}


TEXT = {"type": "string"}

HEADERS = {
    "MyToken": header({"type": "integer", "minimum": 3, "maximum": 2147483642}, "*n* × 17 + 3, if the request had `MyToken: n`."),
    "Account": header({"type": "string", "pattern": "^([-A-Za-z0-9_]{21}[AQgw]|none)$"}, "The identifier of the caller's account, in each answer to a request whose credentials were right: the same for as long as the account exists, and another for each account. `none` without such credentials, if a signature over it was asked for."),
    "RequestId": header({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}, "The request's id, by which the server's log has it.", True),
    "ContentTypeOptions": header({"const": "nosniff"}, "The media type is what it says.", True),
    "ResourcePolicy": header({"const": "same-origin"}, "Pages of other origins get nothing of it as an image, a script or the like; CORS is not concerned (Fetch standard).", True),
    "ReferrerPolicy": header({"const": "no-referrer"}, "A browser that shows it tells no other site the address.", True),
    "TransportSecurity": header({"type": "string", "pattern": "^max-age=[0-9]+$"}, "For how many seconds browsers come back over TLS only (RFC 6797); with TLS of the server's own, if it is configured."),
    "AllowOrigin": header(TEXT, "The request's `Origin`, if it is an allowed one: its pages may read the answer. `Vary` then has `Origin`, in a line of its own."),
    "AllowCredentials": header({"const": "true"}, "With `Access-Control-Allow-Origin`: also of requests with credentials."),
    "ExposeHeaders": header(TEXT, "With `Access-Control-Allow-Origin`: the fields that scripts may read."),
    "NotStored": header({"const": "no-store"}, "No cache may keep it.", True),
    "Freshness": header({"type": "string", "pattern": "^(no-store|private, max-age=[0-9]+)$"}, "For how long the client's own cache may give it without asking. `no-store` where the sender wants it so, and where the payload goes with being read.", True),
    "PublicFreshness": header({"enum": ["no-cache", "no-store"]}, "Any cache may keep it, and asks each time; not a signed one.", True),
    "RateLimit": header({"type": "string", "pattern": '^"[a-z]+";r=[0-9]+;t=[0-9]+$'}, "How many requests the caller has left, and in how many seconds there is one more (draft-ietf-httpapi-ratelimit-headers). Absent where there is no limit."),
    "RateLimitPolicy": header({"type": "string", "pattern": '^"[a-z]+";q=[0-9]+;w=[0-9]+$'}, "How many requests the caller's role has in how many seconds."),
    "ContentDigest": header({"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"}, "The digest of the body (RFC 9530), if a signature was asked for."),
    "SignatureInput": header({"type": "string", "pattern": '^[a-z*][a-z0-9_.*-]{0,63}=\\("@status" ("content-digest"|"etag") "mytoken";req( "@method";req "@path";req "@query";req( "sealpost-account")?)?\\);created=[0-9]+;keyid="[-A-Za-z0-9_]{43}";alg="ed25519"$'}, "What was signed, when and with which key (RFC 9421), if a signature was asked for."),
    "Signature": header({"type": "string", "pattern": "^[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/]{86}==:$"}, "The signature, if one was asked for."),
    "ListFreshness": header({"type": "string", "pattern": "^(no-store|private, (max-age=[0-9]+|no-cache))$"}, "Lists are asked for again each time, unless the configuration says otherwise. `no-store` with a notification that must not be kept.", True),
    "ETag": header({"type": "string", "pattern": '^"[!#-~]+"$'}, "A strong validator, RFC 9110 section 8.8.3. It tells nothing about the content."),
    "ContentEncoding": header({"const": "gzip"}, "If the list is compressed. Its `ETag` then ends with `-gzip`."),
    "LastModified": header(TEXT, "When the notification was made or marked, RFC 9110 section 8.8.2."),
    "Expires": header(TEXT, "The same as `max-age`, for caches of HTTP/1.0."),
    "Vary": header({"type": "string", "pattern": "^Authorization(, Accept-Encoding)?(, Prefer)?$"}, "A cache that several users of a device share keeps one answer for each."),
    "PreferenceApplied": header({"const": "handling=strict"}, "If the request preferred strict handling, and was checked for that (RFC 7240 section 3). `Vary` then has `Prefer`, in a line of its own."),
    "Location": header({"type": "string", "format": "uri-reference"}, "The path of what was made.", True),
    "Challenge": header(TEXT, "`Basic realm=\"sealpost\", charset=\"UTF-8\"` and `Bearer realm=\"sealpost\"`, one line each (RFC 9110 section 11.6.1).", True),
    "ScopeChallenge": header(TEXT, "For a token that lacks a scope: all that are needed (RFC 6750 section 3.1)."),
    "SetCookie": header(TEXT, "For a page: the session's token, or its end."),
    "ContentSecurityPolicy": header(TEXT, "Scripts and styles of the page's own files, requests to its own server, and no frames around it.", True),
    "OpenerPolicy": header({"const": "same-origin"}, "No page of another origin has a handle on its window.", True),
    "Allow": header(TEXT, "The methods that the resource knows.", True),
    "RetryAfter": header({"type": "integer", "minimum": 1}, "After how many seconds it is worth trying again."),
}

EVERYWHERE = {
    "X-Request-Id": ref("headers", "RequestId"),
    "X-Content-Type-Options": ref("headers", "ContentTypeOptions"),
    "Cross-Origin-Resource-Policy": ref("headers", "ResourcePolicy"),
    "Referrer-Policy": ref("headers", "ReferrerPolicy"),
    "Strict-Transport-Security": ref("headers", "TransportSecurity"),
    "Access-Control-Allow-Origin": ref("headers", "AllowOrigin"),
    "Access-Control-Allow-Credentials": ref("headers", "AllowCredentials"),
    "Access-Control-Expose-Headers": ref("headers", "ExposeHeaders"),
    "MyToken": ref("headers", "MyToken"),
    "Sealpost-Account": ref("headers", "Account"),
    "Preference-Applied": ref("headers", "PreferenceApplied"),
    "Content-Digest": ref("headers", "ContentDigest"),
    "Signature-Input": ref("headers", "SignatureInput"),
    "Signature": ref("headers", "Signature"),
}
LIMITED = {"RateLimit": ref("headers", "RateLimit"), "RateLimit-Policy": ref("headers", "RateLimitPolicy")}
NOT_STORED = {"Cache-Control": ref("headers", "NotStored")}

PROBLEMS = {
    400: ("BadRequest", "Something about the request is wrong, and `detail` says what."),
    401: ("Unauthorized", "Credentials are missing or wrong, or the token is none, has expired or was revoked."),
    403: ("Forbidden", "The caller is known and may not do this, or a browser has sent the request for a page of a foreign origin."),
    404: ("NotFound", "There is nothing, it has expired, or it is somebody else's: the answer is the same."),
    405: ("MethodNotAllowed", "The resource does not know the method."),
    408: ("RequestTimeout", "The request took too long to arrive."),
    409: ("Conflict", "It cannot be done as things are."),
    410: ("Gone", "The registration id was retired, or belongs to another account. Ask for a new one with `POST /api/register`."),
    412: ("PreconditionFailed", "A precondition does not hold."),
    413: ("ContentTooLarge", "The body, or the payload in it, is too large."),
    414: ("URITooLong", "Path and query together are over 8 KiB."),
    417: ("ExpectationFailed", "`Expect` asks for something other than `100-continue`."),
    421: ("MisdirectedRequest", "The host of the request is none of the server's `server.names`."),
    422: ("UnprocessableContent", "The `Idempotency-Key` came with another request within the last 24 hours."),
    429: ("TooManyRequests", "Too many sign-ins have failed, the caller's quota is used up, or it has too many event streams open."),
    431: ("HeaderFieldsTooLarge", "The fields are too large, or too many."),
    500: ("InternalServerError", "A mistake of the server's; its log has the reason under the request's id."),
    501: ("NotImplemented", "A method or transfer coding that the server does not know."),
    503: ("ServiceUnavailable", "The server cannot take the request now, or cannot store or send. Nothing was done, unless `detail` says that it may have been."),
    505: ("VersionNotSupported", "The server speaks HTTP/1.1 and HTTP/1.0."),
    507: ("InsufficientStorage", "The server's disk is full. Nothing was stored; it goes on by itself once there is room."),
}
# What HTTP itself can be answered with, on any path.
WIRE = (400, 408, 413, 414, 417, 421, 431, 500, 501, 503, 505)


def problem(status):
    """The answer with one of the codes of that status."""
    own = [(name, title) for name, code, title in CODES if code == status]
    fields = EVERYWHERE | LIMITED | NOT_STORED
    if status == 401:
        fields = fields | {"WWW-Authenticate": ref("headers", "Challenge")}
    if status == 403:
        fields = fields | {"WWW-Authenticate": ref("headers", "ScopeChallenge")}
    if status == 405:
        fields = fields | {"Allow": ref("headers", "Allow")}
    if status in (429, 503, 507):
        fields = fields | {"Retry-After": ref("headers", "RetryAfter")}
    name, title = own[0]
    words = {"type": {"enum": [f"urn:sealpost:problem:{name}" for name, _ in own]}, "status": {"const": status}}
    return {
        "description": PROBLEMS[status][1],
        "headers": fields,
        "content": {
            "application/problem+json": {
                "schema": {"allOf": [schema("Problem"), {"type": "object", "properties": words}]},
                "example": {"type": f"urn:sealpost:problem:{name}", "title": title, "status": status, "instance": "9f2c"},
            }
        },
    }


def responses():
    return {name: problem(status) for status, (name, _) in PROBLEMS.items()}
