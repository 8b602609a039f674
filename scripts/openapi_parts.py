"""Common parts of the OpenAPI operations: words, parameters, fields of answers, problems and schemas."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

SCOPES = ["fetch", "send", "register", "manage", "view", "metrics"]

DESCRIPTION = """\
Sealpost keeps payloads on your server and sends only a number through the push providers. It stores the payload encrypted
in a database, sends the number (`secureId`) through APNs, FCM, WNS, Web Push or an event stream, and the device fetches the
payload over an authenticated connection.

**Credentials.** Each call needs HTTP Basic or a bearer token, unless the operation is for anybody. A user has the role
`device`, `viewer`, `publisher` or `admin`. Each role may do what a `device` may, and an `admin` what all others may. The scopes
`fetch`, `send`, `register`, `manage`, `view` and `metrics` limit a token. With TLS client certificates, or a proxy that signs users in, requests need no credentials.

**JSON.** Answers have member names in PascalCase; in requests the server compares names without case. It ignores unknown
members, and treats `null` like a missing member if the schema allows `null`; it refuses any other `null` as `invalid-member`.
JSON in requests may be nested at most 62 levels deep.

**Strict handling.** With `Prefer: handling=strict` (RFC 7240) the server refuses a request with an unknown member or query
parameter before it has any effect: 400 `unknown-member` or `unknown-parameter`, whose `detail` names it. The answers then have
`Preference-Applied: handling=strict`. Without the preference, unknown names are ignored.

**Pages.** A list has at most `limit` entries. If `More` is true, the next page is the list with this page's `Cursor` as
`cursor`. A cursor is valid for its own list only.

**Conditional and partial requests.** Every `GET` also works as `HEAD`. Answers with an `ETag` support `If-None-Match` and
the other preconditions of RFC 9110. The server ignores ranges.

**Browsers.** Pages of any origin may use the routes that are for anybody. All other routes, and every change, are for pages of
the server's own origin and of `server.allowedOrigins`. Requests of other pages get 403 `cross-origin`, by `Origin` and
`Sec-Fetch-Site`. Answers to an allowed origin have the CORS fields. Each path answers a preflight (`OPTIONS` with
`Access-Control-Request-Method`) with 204, without credentials; any other `OPTIONS` is 405.

**Errors** are `application/problem+json` (RFC 9457); `docs/errors.md` explains the codes. Another user's resource gets the same
404 as a missing one. An error in the HTTP itself is answered before the route is looked up, with 400, 408, 413, 414, 417, 431,
501, 503 or 505. If `server.names` is set, requests for other hosts get 421 `misdirected-request`.
"""

SECURITY = {
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "Name and password in UTF-8 (RFC 7617). The first colon separates them; a password may contain more colons.",
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
        "description": "The session of the console's page, from `POST /api/sessions` with `Cookie`. It is valid only together with the field `Page-Token`.",
    },
    "pageToken": {
        "type": "apiKey",
        "in": "header",
        "name": "Page-Token",
        "description": "The token that proves that a page of this site sends the cookie. `POST /api/sessions` and `GET /api/sessions/current` return it.",
    },
}

# MARK: Schemas

ID_MAXIMUM = 2**63 - 1
NAME = "^[-A-Za-z0-9_@#+.]{1,100}$"
TAG = "^[-A-Za-z0-9_@#+.:]{1,120}$"
PREFIX = "^spt_[0-9A-Za-z]{8}$"
TIME = {"type": "string", "format": "date-time", "examples": ["2026-11-22T08:30:00Z"]}


def ref(kind, name):
    return {"$ref": f"#/components/{kind}/{name}"}


def schema(name):
    return ref("schemas", name)


def time(description):
    return TIME | {"description": description}


def either(type, **rest):
    """The schema of a member that may be null."""
    return {"type": [type, "null"]} | rest


def thing(required, properties, **rest):
    return {"type": "object", "required": required, "properties": properties} | rest


REQUIRES_ENCRYPTION = {"type": "boolean", "description": "The user gets end-to-end payloads only: others that name the user are refused as `encryption-required`, and those for tags leave the user out."}


def causes():
    """The causes of an explanation, as the server has them."""
    text = (ROOT / "Sources/PushServer/Operations/Diagnosis.swift").read_text()
    cases = text[text.index("enum Cause"):].split("}")[0]
    names = [name.strip() for line in re.findall(r"^ *case (.*)$", cases, re.MULTILINE) for name in line.split(",")]
    return [re.search(r'"(.*)"', name)[1] if '"' in name else name for name in names]


def codes():
    """The status and title of every problem's code, as the server has them."""
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
                "description": "`urn:sealpost:problem:` and the code, which is stable. It identifies the problem and is not a page.",
                "enum": [f"urn:sealpost:problem:{name}" for name, _, _ in CODES],
            },
            "title": {"type": "string", "description": "A text for humans, always the same for a code.", "enum": [title for _, _, title in CODES]},
            "status": {"type": "integer", "description": "The status of the answer.", "enum": sorted({status for _, status, _ in CODES})},
            "detail": {"type": "string", "description": "The details of this error, for humans."},
            "instance": {"type": "string", "description": "The request's id, which is also in `X-Request-Id` and in the server's log.", "pattern": "^[A-Za-z0-9_-]{1,128}$"},
        },
        description="An error, RFC 9457.",
    ),
    "NotificationId": {
        "type": "integer", "format": "int64", "minimum": 1, "maximum": ID_MAXIMUM,
        "description": "The number of a notification: random, never used twice, and in its pushes as `secureId`. Below 2^31 unless the server is configured otherwise.",
        "examples": [1202590843],
    },
    "Payload": {
        "type": ["string", "number", "boolean", "object", "array"], "items": {},
        "description": "The content: a string, or any other JSON value but null, of at most 65,536 bytes of JSON text. The server returns it unchanged, with the same digits and the same order of members.",
        "examples": ["Your test result is in."],
    },
    "Notification": thing(
        ["Id", "Payload", "Read", "CreatedAt", "ExpiresAt"],
        {
            "Id": schema("NotificationId"),
            "Payload": schema("Payload"),
            "Read": {"type": "boolean", "description": "Whether its recipient has marked it as read."},
            "CreatedAt": time("When it was accepted."),
            "ExpiresAt": time("When the payload is erased."),
            "Store": {"const": "never", "description": "Present if the client must not store the payload."},
            "ReadOnce": {"type": "boolean", "description": "Present, and true, if the server erases the payload soon after the fetch, or when the recipient confirms it."},
        },
        description="A notification as its recipient fetches it.",
    ),
    "ListedNotification": {
        "description": "A notification in a list. A read-once notification comes without its payload.",
        "anyOf": [schema("Notification"), schema("OnceNotification")],
    },
    "OnceNotification": thing(
        ["Id", "Read", "CreatedAt", "ExpiresAt", "ReadOnce"],
        {
            "Id": schema("NotificationId"), "Read": {"type": "boolean"}, "CreatedAt": time("When it was accepted."),
            "ExpiresAt": time("When the payload is erased."), "ReadOnce": {"type": "boolean", "const": True},
        },
        description="A read-once notification; fetch its payload by its number.",
    ),
    "ReadMark": thing(["Read"], {"Read": {"type": "boolean"}}, description="The read mark.", examples=[{"Read": True}]),
    "ReadOrder": thing(
        ["Ids"], {"Ids": {"type": "array", "minItems": 1, "maxItems": 500, "items": schema("NotificationId")}},
        description="The numbers of notifications.", examples=[{"Ids": [7, 9, 12]}],
    ),
    "ReadList": thing(["Read"], {"Read": {"type": "array", "items": schema("NotificationId")}}, description="The numbers of notifications."),
    "NotificationList": thing(
        ["Notifications", "Deleted", "More"],
        {
            "Notifications": {"type": "array", "maxItems": 500, "items": schema("ListedNotification"), "description": "The oldest change first."},
            "Deleted": {"type": "array", "items": schema("NotificationId"), "description": "The notifications that were dismissed or recalled since the cursor, and the read-once ones that were used up. Expired ones are not listed."},
            "Cursor": schema("Cursor"),
            "More": {"type": "boolean", "description": "Whether there are more changes after `Cursor`."},
        },
        description="The notifications that a device has missed. `Cursor` is absent if the request had `ids`.",
    ),
    "Cursor": {"type": "string", "pattern": "^[-A-Za-z0-9_]{21}[AQgw]$", "description": "The position at which a list ended; it is valid for its user only."},
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
            "SendAt": {"type": ["string", "null"], "format": "date-time", "description": "The time of the sending, in UTC; null: at once."},
            "ExpiresAt": time("When the payload is erased."),
            "To": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string"}, "description": "The tag expressions, without superfluous parentheses."},
            "App": {"type": "string"},
            "Platforms": {"type": ["array", "null"], "items": {"type": "string"}, "description": "The platforms; null for all platforms of the app."},
            "Priority": {"enum": ["high", "normal"]},
            "CollapseKey": either("string"),
            "Store": {"enum": ["cacheable", "never"]},
            "ReadOnce": {"type": "boolean"},
            "Alert": {"description": "The alert as requested; null: pushes show the sender's constants.", "anyOf": [schema("Alert"), {"type": "null"}]},
            "Recipients": either("integer", minimum=0, description="The number of recipients; null if it is not known yet."),
            "Pushes": either("integer", minimum=0, description="The number of pushes, one for each device; null if it is not known yet."),
            "More": {"type": "boolean", "description": "Whether the server still has to look up devices, for a scheduled notification or a large broadcast. `Recipients` and `Pushes` are null then; `GET /api/notifications/{id}/deliveries` has the counts."},
        },
        description="The accepted notification without its payload: the options in force, and the numbers of recipients and pushes. A request repeated with its `Idempotency-Key` gets the answer of the first one, with its numbers.",
    ),
    "Alert": {
        "description": "The text that pushes show until the payload is fetched: the name of a template, or single values, which override the template's. The server's configuration (`alerts`) must list each value: 400 `alert-not-allowed` otherwise. An unknown member is 400 `invalid-member`. `Badge` alone changes the number on the app's icon and shows nothing.",
        "anyOf": [
            {"type": "string", "description": "The name of a template.", "examples": ["appointment"]},
            {
                "type": "object", "minProperties": 1, "additionalProperties": False,
                "properties": {
                    "Template": either("string", description="The name of a template."),
                    "TitleKey": either("string", description="The name of the title among the app's texts."),
                    "BodyKey": either("string", description="The name of the text among the app's texts."),
                    "Category": either("string", description="Apple: the category, which sets the actions."),
                    "Thread": either("string", description="Apple: the thread, by which notifications are grouped."),
                    "Sound": either("string", description="The name of a sound of the app, or `default`."),
                    "Channel": either("string", description="Android: the notification channel."),
                    "InterruptionLevel": {"enum": ["passive", "active", "time-sensitive", "critical", None], "description": "Apple: the interruption level. `critical` is for the users in `alerts.criticalPublishers` of the configuration: 400 `alert-not-allowed` otherwise."},
                    "Badge": either("integer", minimum=0, maximum=9999, description="The number on the app's icon; 0 removes it."),
                },
            },
        ],
        "examples": ["appointment", {"Template": "appointment", "Badge": 3}, {"Badge": 0}],
    },
    "NotificationOrder": thing(
        ["Payload"],
        {
            "App": {"type": "string", "pattern": "^[-a-z0-9_]{1,64}$", "description": "An app that the server sends for and that the sender belongs to. Default: the sender's only app, or `default`.", "examples": ["bank"]},
            "Payload": schema("Payload"),
            "To": {
                "type": "array", "minItems": 1, "maxItems": 20,
                "items": {"type": "string", "pattern": "^[-A-Za-z0-9_@#+.:!&|() ]+$", "examples": ["username:alice", "news && !(beta || username:bob)"]},
                "description": "Tag expressions of `&&`, `||`, `!` and parentheses, with at most 20 tags each. The notification goes to all devices that match any of them. `username:` and a name means a user. Default: the caller. The role `device` can send only to itself.",
            },
            "Platforms": {"type": "array", "items": schema("Platform"), "description": "The platforms of the app to which pushes go. Default: all but those for calls."},
            "SendAt": {"type": "string", "format": "date-time", "description": "The time of the sending, at most 30 days ahead, in RFC 3339 with its zone. Until then no recipient sees the notification, and its sender can recall it with `DELETE`. The server determines the recipients at that time. A past time means now.", "examples": ["2026-11-22T08:30:00+01:00"]},
            "ExpiresIn": {"type": "integer", "minimum": 1, "maximum": 2592000, "description": "Seconds from the sending until the server erases the payload and ends the pushes. The configuration may set a lower maximum; with a platform for calls it is 120, and the default."},
            "Priority": {"enum": ["high", "normal", None], "default": "high", "description": "The urgency of the push, for providers that support it."},
            "CollapseKey": either("string", pattern="^[!-~]{1,64}$", description="A newer notification with the same key replaces an older one that the provider has not delivered. Providers see only a keyed hash of the key."),
            "Store": {"enum": ["cacheable", "never"], "default": "cacheable", "description": "`never`: no cache may store the answer with the payload."},
            "ReadOnce": {"type": "boolean", "default": False, "description": "Whether the server erases the payload once all recipients have fetched it. For each recipient it is used up a minute after the first fetch, or when the recipient confirms."},
            "Alert": {"description": "The text of its pushes. Default: the constants of the configured sender.", "anyOf": [schema("Alert"), {"type": "null"}]},
        },
        description="A notification in its full form.",
        examples=[{"Payload": {"Code": "493 021"}, "To": ["username:alice"], "ExpiresIn": 300, "Store": "never", "ReadOnce": True}],
    ),
    "NotificationBatch": thing(
        ["Notifications"],
        {"Notifications": {"type": "array", "minItems": 1, "maxItems": 500, "items": {
            "anyOf": [schema("NotificationOrder"), {"description": "The server refuses any other element alone, as its outcome."}],
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
                description="The notification was refused; this does not affect the others.",
            ),
        ]}}},
        description="The outcome of each notification, in the order of the request.",
    ),
    "Platform": {
        "type": "string", "minLength": 1,
        "description": "The name of a sender in the server's configuration, such as `apns`, `fcm`, `wns`, `webpush` or `stream`. `gcm` is `fcm` under its old name.",
        "examples": ["apns"],
    },
    "RegistrationId": {
        "type": "string", "pattern": "^[-A-Za-z0-9_.]{1,128}$", "not": {"enum": [".", ".."]},
        "description": "The id of one registration of a device. `POST /api/register` makes one of 128 random bits.",
        "examples": ["9f86d081884c7d659a2feaa0c55ad015"],
    },
    "Handle": {
        "type": "string", "pattern": "^[!-~]{1,4096}$",
        "description": "The device's address at its provider: a device token of APNs, a registration token of FCM, a channel of WNS. Hexadecimal handles are compared without case.",
        "examples": ["0f744707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"],
    },
    "Tags": either(
        "array", maxItems=60,
        items={"type": "string", "pattern": TAG, "not": {"pattern": "^([Uu][Ss][Ee][Rr][Nn][Aa][Mm][Ee]|[Ff][Rr][Oo][Mm]):"}},
        description="The topics of the device; compared without case. Every user may join any topic, so send confidential payloads to tags that are assigned to users (`PUT /api/users/{id}/tags`). The server adds the tag `username:` with the user's name. A device cannot choose a tag that begins with `username:`, `from:` or a prefix of `tags.reserved`, by default `role:`; with `tags.open: false` it cannot choose any.",
        examples=[["news", "region:eu"]],
    ),
    "Shared": {
        "type": "boolean",
        "description": "True on a device that several users share: the registrations of other users with the same handle stay in place, and each push has an `accountHint` that only the user's app can recognize. Otherwise the handle moves to this user, from all others that have it. The platform `stream` has no shared devices.",
        "examples": [True],
    },
    "App": {
        "type": ["string", "null"], "pattern": "^[-a-z0-9_]{1,64}$",
        "description": "An app that the server sends for and that the user belongs to. Default: the user's only app, or `default`.",
        "examples": ["bank"],
    },
    "Apps": {
        "type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[-a-z0-9_]{1,64}$"},
        "description": "The apps that the user belongs to: the user registers devices, sends and fetches for these apps. Administrators belong to all.",
        "examples": [["default"]],
    },
    "Environment": {
        "type": ["string", "null"], "enum": ["production", "sandbox", None],
        "description": "`sandbox` for builds that Xcode has installed on an Apple device, if the platform has the sandbox enabled: only Apple's sandbox knows their tokens. The server moves a device whose token belongs to the other environment.",
        "examples": ["sandbox"],
    },
    "DeviceRegistration": {
        "description": "A device and its handle. The platform determines the form.",
        "anyOf": [schema("ProviderRegistration"), schema("BrowserRegistration"), schema("StreamRegistration")],
    },
    "ProviderRegistration": thing(
        ["Platform", "Handle"],
        {"App": schema("App"), "Platform": schema("Platform"), "Environment": schema("Environment"), "Handle": schema("Handle"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A device that a provider reaches. The handle must have the provider's form.",
        examples=[{"Platform": "apns", "Handle": "0f744707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad", "Tags": ["news"]}],
    ),
    "BrowserRegistration": thing(
        ["Platform", "Handle"],
        {"App": schema("App"), "Platform": {"type": "string", "const": "webpush"}, "Handle": schema("PushSubscription"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A browser. The handle may also be the JSON text of the object.",
    ),
    "ConfirmationCode": {
        "type": "string", "minLength": 1,
        "description": "The code that was pushed to the handle as `confirmation`.",
        "examples": ["3d0c9fb1a8e54f27b6c2d1907f4ea835"],
    },
    "StreamRegistration": thing(
        ["Platform"],
        {"App": schema("App"), "Platform": {"type": "string", "const": "stream"}, "Handle": either("string"), "Tags": schema("Tags"), "Shared": schema("Shared")},
        description="A device that holds `GET /api/stream` open. It needs no handle; the server ignores one.",
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
        ["Id", "App", "Platform", "Environment", "Handle", "Tags", "Shared", "CreatedAt", "LastPush", "Key"],
        {
            "Id": schema("RegistrationId"),
            "App": {"type": "string"},
            "Platform": {"type": "string"},
            "Environment": {"type": ["string", "null"], "enum": ["production", "sandbox", None], "description": "The environment of its handle, which may differ from the registered one; null if the handle has moved to another user."},
            "Handle": {"type": "string", "description": "Only its first and last characters, enough to tell one's own devices apart.", "examples": ["0f74…78ad"]},
            "Tags": {"type": "array", "items": {"type": "string"}, "description": "In lower case, including the tags that the server adds."},
            "Shared": {"type": "boolean", "description": "Whether other users may register its handle, too."},
            "CreatedAt": time("When the registration was made."),
            "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to its handle. With PostgreSQL it is updated at most once a minute, unless the sender has an `interval`."},
            "Key": {"type": ["string", "null"], "description": "Its public keys for end-to-end encryption; null if it has set none."},
            "ServerKey": {"type": "string", "description": "The present key of the server, as `GET /api/webpush/key` has it; present for Web Push."},
            "RetiredAt": time("When another user registered its handle; absent while the device is registered."),
            "Reason": {"type": "string", "description": "The reason for the end of the registration; present with `RetiredAt`."},
        },
        description="A registered device of the caller, or one whose handle has moved to another user.",
    ),
    "DeviceList": thing(
        ["Devices", "Cursor", "More"],
        {
            "Devices": {"type": "array", "maxItems": 500, "items": thing(
                ["Id", "User", "State", "App", "Platform", "Environment", "Handle", "Tags", "CreatedAt", "RegisteredAt", "LastPush", "LastFetch", "RetiredAt", "Reason"],
                {
                    "Id": schema("RegistrationId"), "User": schema("Username"),
                    "State": {"enum": ["requested", "registered", "retired"], "description": "`requested` until the device registers under its id; `retired` once the id is no longer usable."},
                    "App": either("string", description="Null unless the device is registered."),
                    "Platform": either("string", description="Null unless the device is registered, as are its handle and tags."),
                    "Environment": {"type": ["string", "null"], "enum": ["production", "sandbox", None], "description": "The environment of its handle."},
                    "Handle": either("string", description="Only its ends. Null also for viewers."),
                    "Tags": {"type": "array", "items": {"type": "string"}, "description": "In lower case, including the tags that the server adds."},
                    "CreatedAt": time("When the id was issued."),
                    "RegisteredAt": {"type": ["string", "null"], "format": "date-time", "description": "When the device last registered."},
                    "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to its handle. With PostgreSQL it is updated at most once a minute, unless the sender has an `interval`."},
                    "LastFetch": {"type": ["string", "null"], "format": "date-time", "description": "When the user last fetched, with any device, one of the latest 20 notifications of the user's list; null if none of them was fetched."},
                    "RetiredAt": {"type": ["string", "null"], "format": "date-time"},
                    "Reason": either("string", description="Why the registration was retired."),
                },
            )},
            "Cursor": {"anyOf": [schema("DeviceCursor"), {"type": "null"}], "description": "Null if there is no device."},
            "More": {"type": "boolean", "description": "Whether there are more after the last one."},
        },
        description="A page of devices in the order in which their ids were issued.",
    ),
    "DeviceCursor": {"anyOf": [{"type": "string", "pattern": "^[0-9]{1,15}\\.[1-9][0-9]{0,17}$"}, schema("ViewerCursor")], "description": "Where a list of devices ended."},
    "ViewerCursor": {"type": "string", "pattern": "^[-A-Za-z0-9_]{187}$", "description": "Where a list ended, encrypted for a viewer who does not belong to all apps."},
    "DeviceTest": thing(
        ["Device", "State", "Reason"],
        {
            "Device": schema("RegistrationId"),
            "State": {"enum": ["accepted", "queued", "failed"], "description": "`queued` if the provider has not answered, if the server will retry, or if the lane sends nothing now."},
            "Reason": either("string", description="The provider's answer, or why the push waits, if the provider did not accept it."),
        },
        description="The outcome of a test push.",
    ),
    "Deliveries": thing(
        ["SendAt", "Counts", "Counted", "Deliveries", "Cursor", "More"],
        {
            "SendAt": {"type": ["string", "null"], "format": "date-time", "description": "The time of the sending, while the notification is scheduled."},
            "Counts": thing(
                ["queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled"],
                {state: {"type": "integer", "minimum": 0} for state in ("queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled")},
                description="The number of pushes in each state.", additionalProperties=False,
            ),
            "Counted": {"enum": ["all", "part"], "description": "`part`: `Counts` covers a part of the pushes; repeat the request with `counts=part` until it is `all`."},
            "Deliveries": {"type": "array", "items": schema("Delivery")},
            "Cursor": {"type": "string", "pattern": "^[0-9]{1,19}$", "description": "The `cursor` of the next page."},
            "More": {"type": "boolean", "description": "Whether there is a next page."},
        },
        description="A page of a notification's pushes and their states, and the counts of all.",
    ),
    "RecipientList": thing(
        ["Recipients", "Cursor", "More"],
        {
            "Recipients": {"type": "array", "maxItems": 500, "items": thing(
                ["User", "FetchedAt", "ReadAt", "DismissedAt"],
                {
                    "User": either("string", description="The recipient; null if the user was deleted."),
                    "FetchedAt": {"type": ["string", "null"], "format": "date-time", "description": "When the user first fetched the payload, with any device."},
                    "ReadAt": {"type": ["string", "null"], "format": "date-time", "description": "When the user read the notification."},
                    "DismissedAt": {"type": ["string", "null"], "format": "date-time", "description": "When the user dismissed the notification."},
                },
            )},
            "Cursor": {"type": ["string", "null"], "pattern": "^[1-9][0-9]{0,18}$", "description": "The `cursor` of the next page; null if there is no recipient."},
            "More": {"type": "boolean", "description": "Whether there is a next page."},
        },
        description="A page of a notification's recipients.",
    ),
    "FailureList": thing(
        ["Deliveries", "Cursor", "More"],
        {
            "Deliveries": {"type": "array", "maxItems": 500, "items": {
                "allOf": [schema("Delivery"), thing(["Notification"], {"Notification": schema("NotificationId")})],
                "description": "A failed push; `UpdatedAt` is the time of the failure.",
            }},
            "Cursor": {"anyOf": [schema("FailureCursor"), {"type": "null"}], "description": "Null if nothing was examined."},
            "More": {"type": "boolean", "description": "Whether there may be more after `Cursor`."},
        },
        description="A page of failed pushes, the newest first.",
    ),
    "Explanation": thing(
        ["Subject", "Kind", "Sentences"],
        {
            "Subject": {"type": "string", "description": "The subject in the request."},
            "Kind": {"enum": ["user", "device", "notification"], "description": "What the subject is."},
            "Sentences": {"type": "array", "items": thing(
                ["Cause", "Device", "Text"],
                {
                    "Cause": {"enum": causes(), "description": "The cause, for scripts."},
                    "Device": either("string", description="The device that the sentence is about; null if it is about none."),
                    "Text": {"type": "string", "description": "The sentence, in English."},
                },
            )},
        },
        description="Why devices got a notification or not.",
    ),
    "FailureCursor": {"anyOf": [{"type": "string", "pattern": "^[0-9]{1,15}\\.[1-9][0-9]{0,17}\\.[1-9][0-9]{0,17}$"}, schema("ViewerCursor")], "description": "Where a list of failed pushes ended."},
    "EventList": thing(
        ["Events", "Cursor", "More", "Truncated"],
        {
            "Events": {"type": "array", "maxItems": 500, "items": schema("Event")},
            "Cursor": {"anyOf": [{"type": "string", "pattern": "^[0-9]{1,19}$"}, schema("ViewerCursor")], "description": "The `cursor` for the events after these; present on the last page, too."},
            "More": {"type": "boolean", "description": "Whether there is a next page now."},
            "Truncated": {"type": "boolean", "description": "Whether events after `cursor` have expired, so that some may be missing here."},
        },
        description="A page of events, the oldest first.",
    ),
    "Event": thing(
        ["Number", "At", "Kind", "Notification", "Device", "User", "App", "Platform", "Reason"],
        {
            "Number": {"type": "integer", "format": "int64", "minimum": 1, "description": "Rises with each event, with gaps, and is never reused."},
            "At": time("When it happened."),
            "Kind": {"enum": ["accepted", "failed", "expired", "cancelled", "collected", "retired"], "description": "The outcome of a push: `accepted` by the provider, `failed` (refused for good), `expired` before the provider accepted it, or `cancelled`, as it was no longer needed. Or `collected`: a user has fetched a notification for the first time. Or `retired`: a registration has ended."},
            "Notification": {"anyOf": [schema("NotificationId"), {"type": "null"}], "description": "Null for `retired`."},
            "Device": either("string", description="The registration's id; null for `collected`, and if the registration was deleted."),
            "User": either("string", description="The user of the device, or the user who has fetched; null if the user was deleted."),
            "App": either("string", description="The app of the device; null if it has none."),
            "Platform": either("string", description="The device's platform; null for `collected`."),
            "Reason": either("string", description="The reason why it was refused, cancelled or retired."),
        },
        description="The outcome of a push, the first fetch of a notification, or the end of a registration.",
    ),
    "Delivery": thing(
        ["Device", "User", "App", "Platform", "State", "Attempts", "UpdatedAt", "Reason"],
        {
            "Device": either("string", description="The registration's id; null if the registration was deleted."),
            "User": either("string", description="The user of the device; null if the user was deleted."),
            "App": {"type": "string"},
            "Platform": {"type": "string"},
            "State": {"enum": ["queued", "sending", "accepted", "fetched", "read", "expired", "failed", "cancelled"], "description": "The state of the push."},
            "Attempts": {"type": "integer", "minimum": 0, "description": "The number of attempts."},
            "UpdatedAt": {"type": ["string", "null"], "format": "date-time"},
            "Reason": either("string", description="The provider's or the server's reason for this state."),
        },
        description="One push to one device.",
    ),
    "Username": {
        "type": "string", "pattern": NAME,
        "description": "The name of a user; compared without case.", "examples": ["alice"],
    },
    "Role": {"enum": ["device", "viewer", "publisher", "admin"], "description": "The rights of a user. A `viewer` sees what administrators see of its apps, without payloads, handles and tokens."},
    "Scopes": {
        "type": "array", "minItems": 1, "items": {"enum": SCOPES},
        "description": "The rights of the token, among those of the user's role. Default: `fetch`, `send` and `register`; a request must name the others.",
    },
    "GivenScopes": {"type": "array", "items": {"enum": SCOPES}, "uniqueItems": True, "description": "The rights of the token."},
    "Password": {
        "type": "string", "format": "password", "minLength": 8, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f]*$",
        "description": "8 characters to 256 bytes of UTF-8, without control characters. It must not be one of the five thousand most common passwords, or the user's name.",
        "examples": ["correct horse battery"],
    },
    "SessionOrder": thing(
        [], {
            "Scopes": schema("Scopes"),
            "ExpiresIn": {"type": "integer", "minimum": 1, "maximum": 7776000, "description": "The lifetime of the token in seconds. The configuration may set another maximum."},
            "Cookie": {"type": "boolean", "description": "Whether the server returns the token in a cookie instead of the answer, for a page. Such a token has by default all rights of the role, and lives for at most twelve hours."},
        },
        description="The rights and the lifetime of a session.", examples=[{"Scopes": ["fetch", "register"], "ExpiresIn": 86400}],
    ),
    "AccountId": {"type": "string", "pattern": "^[-A-Za-z0-9_]{21}[AQgw]$", "description": "The opaque identifier of a user, as in `Sealpost-Account`."},
    "Session": thing(
        ["Name", "Account", "Token", "ExpiresAt", "Scopes"],
        {"Name": schema("Username"), "Account": schema("AccountId"), "Token": schema("Token"), "ExpiresAt": time("When the token ends."), "Scopes": schema("GivenScopes")},
        description="The user of the session, and its token, which only this answer shows.",
    ),
    "EnrolmentOrder": thing(
        [], {
            "Scopes": schema("Scopes"),
            "ExpiresIn": {"type": "integer", "minimum": 60, "maximum": 86400, "default": 900, "description": "The lifetime of the code in seconds."},
        },
        description="The rights of the token that the code gives, and the lifetime of the code.", examples=[{"ExpiresIn": 3600}],
    ),
    "EnrolmentCode": thing(
        ["Code", "ExpiresAt", "Scopes"],
        {
            "Code": {"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$", "description": "A secret that works once. Case, dashes and spaces are ignored."},
            "ExpiresAt": time("When the code ends."), "Scopes": schema("GivenScopes"),
        },
        description="A code, which only this answer shows.",
    ),
    "Enrolment": thing(
        ["Code"], {"Code": {"type": "string", "description": "The code, in any spelling."}},
        description="The code of a user.", examples=[{"Code": "7K3QM-0XW9T-5ZJ4R-B8N2D-VH6PC"}],
    ),
    "EnrolledSession": thing(
        ["Name", "Account", "Token", "ExpiresAt", "Scopes"],
        {"Name": schema("Username"), "Account": schema("AccountId"), "Token": schema("Token"), "ExpiresAt": time("When the token ends."), "Scopes": schema("GivenScopes")},
        description="The user of the device, and its token, which only this answer shows.",
    ),
    "SessionView": thing(
        ["Name", "Account", "Role", "Scopes", "ExpiresAt", "PageToken"],
        {
            "Name": schema("Username"), "Account": schema("AccountId"), "Role": schema("Role"), "Scopes": schema("GivenScopes"),
            "ExpiresAt": either("string", format="date-time", description="When the session ends; null for a caller without a token."),
            "PageToken": either("string", pattern="^[0-9a-f]{32}$", description="The value that the page sends as `Page-Token`; null for a caller without a cookie."),
        },
        description="The caller and the caller's rights.",
    ),
    "Token": {"type": "string", "pattern": "^spt_[0-9A-Za-z]{42}$", "description": "A secret that identifies a user, for `Authorization: Bearer`."},
    "TokenPrefix": {"type": "string", "pattern": PREFIX, "description": "The beginning of a token, by which it is listed and revoked.", "examples": ["spt_0Abc4Def"]},
    "TokenOrder": thing(
        ["User"], {
            "User": schema("Username"),
            "Scopes": schema("Scopes"),
            "ExpiresIn": {"type": "integer", "minimum": 1, "maximum": 31536000, "description": "The lifetime of the token in seconds."},
        },
        description="A token for any user.", examples=[{"User": "alice", "Scopes": ["send"], "ExpiresIn": 31536000}],
    ),
    "NewToken": thing(
        ["Token", "Prefix", "ExpiresAt", "Scopes"],
        {"Token": schema("Token"), "Prefix": schema("TokenPrefix"), "ExpiresAt": time("When it ends."), "Scopes": schema("GivenScopes")},
        description="A token, which only this answer shows.",
    ),
    "TokenList": thing(
        ["Tokens", "Cursor", "More"],
        {
            "Tokens": {"type": "array", "maxItems": 500, "items": thing(
                ["Prefix", "User", "Session", "Scopes", "CreatedAt", "ExpiresAt", "LastUse", "AuditId"],
                {
                    "Prefix": schema("TokenPrefix"), "User": schema("Username"),
                    "Session": {"type": "boolean", "description": "Whether it belongs to a session, which began with the password."},
                    "Scopes": schema("GivenScopes"), "CreatedAt": time("When it was made."), "ExpiresAt": time("When it ends."),
                    "LastUse": {"type": ["string", "null"], "format": "date-time", "description": "When it was last used, within some minutes."},
                    "AuditId": {"type": "string", "description": "The id of the token in the audit, also after the token has ended."},
                },
            )},
            "Cursor": {"anyOf": [schema("TokenPrefix"), {"type": "null"}], "description": "The `cursor` of the next page; null if there is no token."},
            "More": {"type": "boolean", "description": "Whether there are more after the last one."},
        },
        description="A page of tokens in the order of their prefixes.",
    ),
    "UserOrder": thing(
        ["Name"],
        {"Name": schema("NewUsername"), "Password": schema("Password"), "WithoutPassword": either("boolean", description="Whether to create the user without a password, instead of `Password`."), "Role": {"enum": ["device", "viewer", "publisher", "admin"], "default": "device"}, "Apps": schema("Apps") | {"default": ["default"]}, "RequiresEncryption": REQUIRES_ENCRYPTION},
        anyOf=[
            {"required": ["Password"], "properties": {"WithoutPassword": {"not": {"const": True}}}},
            {"required": ["WithoutPassword"], "properties": {"WithoutPassword": {"const": True}}, "not": {"required": ["Password"]}},
        ],
        description="The new user.", examples=[{"Name": "alice", "Password": "correct horse battery", "Role": "device"}],
    ),
    "NewUsername": {"type": "string", "pattern": NAME, "not": {"enum": [".", ".."]}, "description": "A name that no user has yet.", "examples": ["alice"]},
    "NewUser": thing(["Name", "Role", "Apps", "RequiresEncryption"], {"Name": schema("Username"), "Role": schema("Role"), "Apps": schema("Apps"), "RequiresEncryption": {"type": "boolean"}}, description="The created user."),
    "UserChange": thing(
        [], {
            "Role": {"enum": ["device", "viewer", "publisher", "admin"]},
            "Apps": schema("Apps") | {"description": "Devices of apps that the user leaves are retired."},
            "Password": schema("Password") | {"description": "A new password ends the user's sessions."},
            "Disabled": {"type": "boolean", "description": "The server refuses a disabled user at once, like an unknown one."},
            "RequiresEncryption": REQUIRES_ENCRYPTION,
        },
        description="The changes of a user.", examples=[{"Disabled": True}],
    ),
    "User": thing(
        ["Name", "Role", "Apps", "Tags", "CreatedAt", "Disabled", "HasPassword", "RequiresEncryption", "LastPush", "LastFetch"],
        {"Name": schema("Username"), "Role": schema("Role"), "Apps": schema("Apps"), "Tags": {"type": "array", "items": {"type": "string", "pattern": TAG}, "description": "The tags assigned to the user."}, "CreatedAt": time("When the user was made."), "Disabled": {"type": "boolean"}, "HasPassword": {"type": "boolean"}, "RequiresEncryption": {"type": "boolean"}, "LastPush": {"type": ["string", "null"], "format": "date-time", "description": "When a provider last accepted a push to one of the user's 20 newest devices."}, "LastFetch": {"type": ["string", "null"], "format": "date-time", "description": "When the user last fetched one of the latest 20 notifications of the user's list."}},
        description="A user.",
    ),
    "UserTags": thing(
        ["Tags"],
        {"Tags": {
            "type": "array", "maxItems": 60,
            "items": {"type": "string", "pattern": TAG, "not": {"pattern": "^([Uu][Ss][Ee][Rr][Nn][Aa][Mm][Ee]|[Ff][Rr][Oo][Mm]):"}},
            "description": "All tags of the user; compared without case, and listed in lower case.",
        }},
        description="The tags assigned to a user.", examples=[{"Tags": ["board", "role:nurse"]}],
    ),
    "UserList": thing(
        ["Users", "Cursor", "More"],
        {"Users": {"type": "array", "maxItems": 500, "items": schema("User")}, "Cursor": {"anyOf": [schema("Username"), schema("ViewerCursor"), {"type": "null"}], "description": "The `cursor` of the next page; null if there is no user."}, "More": {"type": "boolean", "description": "Whether there are more after the last one."}},
        description="A page of users in the order of their names.",
    ),
    "PasswordChange": thing(
        ["Current", "New"],
        {"Current": {"type": "string", "description": "The present password."}, "New": schema("Password")},
        description="The caller's present password and the new one.",
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
                    "Subject": {"type": "string", "description": "The object of the action. The notifications of a batch that were stored together are separated by spaces."},
                    "Detail": {"type": "string", "description": "Details that the action does not tell."},
                    "Actor": {"type": "string", "description": "The user who acted; empty for the operator at the command line."},
                    "Token": {"type": "string", "description": "The id of the token that the request had; empty for a password."},
                    "Client": {"type": "string", "description": "The address of the client."},
                    "Request": {"type": "string", "description": "The request's id."},
                },
            )},
            "Cursor": {"anyOf": [{"type": ["string", "null"], "pattern": "^[1-9][0-9]{0,18}$"}, schema("ViewerCursor")], "description": "The `cursor` of the next page; null if there is no entry."},
            "More": {"type": "boolean", "description": "Whether there are older entries; in a search, older entries that were not searched yet."},
            "Searched": {"type": "integer", "minimum": 0, "maximum": 5000, "description": "The number of searched entries; absent without a search."},
        },
        description="The audit, the newest entry first.",
    ),
    "Health": thing(
        ["Status"],
        {
            "Status": {"enum": ["alive", "ready"]},
            "Warnings": {"type": "array", "items": {"type": "string"}, "description": "Warnings for an operator, although the server is ready; absent if there are none."},
        },
        description="The health of the server.",
    ),
    "SetupOrder": thing(["Code", "Name", "Password"], {"Code": {"type": "string", "description": "The code of the link that the server has printed at its start."}, "Name": schema("NewUsername"), "Password": schema("Password")}, description="The first administrator.", examples=[{"Code": "00112233445566778899aabbccddeeff", "Name": "ada", "Password": "correct horse battery"}]),
    "Named": thing(["Name"], {"Name": schema("Username")}, description="A user."),
    "LaneOrder": thing(["Lane"], {"Lane": {"type": "string", "description": "The lane's name, as in `GET /api/status`."}}, description="A lane.", examples=[{"Lane": "apns"}]),
    "Status": thing(
        ["Version", "StartedAt", "Now", "Servers", "Nodes", "Troubles", "Lanes", "Scheduled", "Credentials", "History"],
        {
            "Version": {"type": "string", "description": "The version of the server."},
            "StartedAt": time("When the server started."), "Now": time("The server's time."),
            "Servers": {"type": "integer", "minimum": 0, "description": "The number of servers that share the database."},
            "Nodes": {"type": "array", "maxItems": 100, "description": "With PostgreSQL, the servers that share the database, and last the servers that have gone within a day; otherwise empty.", "items": thing(
                ["Name", "Version", "StartedAt", "HeardAt", "State", "IsThis"],
                {
                    "Name": {"type": "string", "description": "The machine and the process."}, "Version": {"type": "string", "description": "The server's version."},
                    "StartedAt": time("When the server started, by the database's clock."),
                    "HeardAt": time("When the server last reported that it is alive, by the database's clock; for an orderly stopped server, when it stopped."),
                    "State": {"enum": ["alive", "late", "gone"], "description": "`late`: the server was silent for five seconds, and others are about to take over its pushes. `gone`: the server has ended, or others have taken over."},
                    "IsThis": {"type": "boolean", "description": "Whether it is the server that answers."},
                },
            )},
            "Troubles": {"type": "array", "items": {"type": "string"}, "description": "The faults that keep the server from storing or returning notifications, as in `GET /readyz`."},
            "Lanes": {"type": "array", "description": "The lanes of the server's senders, and other lanes that have had pushes, by name.", "items": thing(
                ["Name", "Pending", "OverdueSeconds", "OldestSeconds", "Accepted", "Failed", "Expired", "Cancelled", "HasSender", "Pause"],
                {
                    "Name": {"type": "string"}, "Pending": {"type": "integer", "description": "Pushes that have not ended."},
                    "OverdueSeconds": {"type": "integer", "minimum": 0, "description": "How long the oldest due push has waited for a server to send it."},
                    "OldestSeconds": {"type": "integer", "minimum": 0, "description": "The age of the oldest notification with a push that is due or waits for a retry."},
                    "Accepted": {"type": "integer"}, "Failed": {"type": "integer"}, "Expired": {"type": "integer"}, "Cancelled": {"type": "integer"},
                    "HasSender": {"type": "boolean", "description": "Whether the server has a sender for the lane; without one, its pushes wait."},
                    "Pause": {"anyOf": [thing(
                        ["Cause", "Reason", "Since", "Until"],
                        {
                            "Cause": {"enum": ["outage", "overloaded", "throttled", "misconfigured", "devices_refused"]},
                            "Reason": {"type": "string", "description": "The provider's answer."},
                            "Since": time("When it began."), "Until": time("When the server sends one push as a probe."),
                        },
                    ), {"type": "null"}], "description": "The pause of the lane; null while it is not paused."},
                },
            )},
            "Scheduled": thing(["Count", "FirstDue"], {"Count": {"type": "integer", "minimum": 0}, "FirstDue": either("string", format="date-time")}, description="The notifications that wait for their `SendAt`; at most 100,000 are counted."),
            "Credentials": {"type": "array", "items": thing(["Name", "ExpiresAt", "Lifetime"], {"Name": {"type": "string"}, "ExpiresAt": time("When it expires."), "Lifetime": {"type": ["integer", "null"], "description": "The seconds from the start of its validity to the end; null if the server does not know them."}}), "description": "The certificates and secrets that expire, the nearest first; a revocation list on its last day."},
            "History": thing(
                ["Seconds", "End", "Posted", "Accepted", "Failed", "Fetched", "Pending"],
                {"Seconds": {"type": "integer", "description": "The length of a step."}, "End": time("When the last step ended.")}
                | {name: {"type": "array", "items": {"type": ["integer", "null"]}} for name in ("Posted", "Accepted", "Failed", "Fetched", "Pending")},
                description="The last hour in steps, the oldest first: notifications posted and payloads fetched at this server, pushes accepted and failed of all servers, and the pushes that had not ended at a step's end. Null while this server was not running.",
            ),
        },
        description="The status of the server.",
    ),
    "NewDeviceKey": thing(["Key"], {"Key": {"type": "string", "maxLength": 2048, "pattern": r"^sealpost-key\.1\.[-A-Za-z0-9_]{22}\.[-A-Za-z0-9_]{87}\.[-A-Za-z0-9_]{87}\.[0-9]{1,10}\.[-A-Za-z0-9_]{86}\.[-A-Za-z0-9_]*$", "description": "The text of docs/end-to-end.md, with the caller's account, points on the curve P-256 and the device's own signature."}}, description="The public keys of a device."),
    "DeviceKeys": thing(
        ["Users"],
        {"Users": {"type": "array", "items": thing(
            ["Name", "Account", "Devices"],
            {
                "Name": schema("Username"),
                "Account": {"type": "string", "description": "The identifier of the user's account, as in `Sealpost-Account`."},
                "Devices": {"type": "array", "items": thing(
                    ["Id", "Key"],
                    {"Id": schema("RegistrationId"), "Key": {"type": ["string", "null"], "description": "Its public keys; null if it has set none."}},
                )},
            },
        )}},
        description="The devices of an audience, by their users.",
    ),
    "WebPushKey": thing(["Key"], {"Key": {"type": "string", "pattern": "^[-A-Za-z0-9_]{87}$", "description": "An uncompressed point on P-256 in base64url."}}, description="The key that a page passes to `subscribe`."),
}

# MARK: Parameters


def parameter(name, place, schema, description, **rest):
    return {"name": name, "in": place, "description": description} | ({"required": True} if place == "path" else {}) | {"schema": schema} | rest


PARAMETERS = {
    "MyToken": parameter(
        "MyToken", "header", {"type": "integer", "minimum": 0, "maximum": 126322567},
        "A random number *n*. The answer has `MyToken` with *n* × 17 + 3, whatever its status, so that the client can recognize an answer that a proxy has cached or invented.",
        example=4711,
    ),
    "RequestId": parameter(
        "X-Request-Id", "header", {"type": "string"},
        "The server returns it if it is 1 to 128 of `A-Za-z0-9_-`; otherwise the server makes one.", example="4f1c-17",
    ),
    "TraceParent": parameter(
        "traceparent", "header", {"type": "string"},
        "The trace of the request (W3C Trace Context). The log lines of the request, and of its pushes, then have the trace. An invalid value is ignored.",
        example="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
    "Prefer": parameter(
        "Prefer", "header", {"type": "string"},
        "With `handling=strict` the server refuses a request with an unknown member or query parameter (RFC 7240 section 4.4). Other preferences are ignored.",
        example="handling=strict",
    ),
    "IfNoneMatch": parameter(
        "If-None-Match", "header", {"type": "string"},
        "The `ETag` of the client's cached answer, or several: if one still matches, the answer is 304. An invalid value matches nothing.",
        example='"1f0c3ab1d29e44bb8b4c3e0bb4f6a3d7"',
    ),
    "IfMatch": parameter(
        "If-Match", "header", {"type": "string"},
        "The `ETag` that must still match, or several, or `*`; otherwise the answer is 412. An invalid value matches nothing.",
        example='"1f0c3ab1d29e44bb8b4c3e0bb4f6a3d7"',
    ),
    "IfUnmodifiedSince": parameter(
        "If-Unmodified-Since", "header", {"type": "string"},
        "The time since which the resource must not have changed; otherwise the answer is 412. Ignored with `If-Match`, and if it is not a date.",
        example="Sun, 22 Nov 2026 08:30:00 GMT",
    ),
    "AcceptEncoding": parameter(
        "Accept-Encoding", "header", {"type": "string"},
        "With `gzip`, a list of more than 1 KiB comes compressed, unless the request asks for a signature. An invalid value is ignored.", example="gzip",
    ),
    "IfModifiedSince": parameter(
        "If-Modified-Since", "header", {"type": "string"},
        "The `Last-Modified` of the client's cached answer. Ignored with `If-None-Match`, and if it is not a date.",
        example="Sun, 22 Nov 2026 08:30:00 GMT",
    ),
    "IdempotencyKey": parameter(
        "Idempotency-Key", "header", {"type": "string", "pattern": '^([!#-~][!-~]{0,254}|"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$'},
        "1 to 255 visible ASCII characters, with or without quotes. The client makes a new key for each notification, and reuses it when it repeats the request. The server remembers keys for 24 hours. The same key with another request is 422, and 409 while the first request is in progress.",
        example='"8e03978e-40d5-43e8-bc93-6894a57f9324"',
    ),
    "AcceptSignature": parameter(
        "Accept-Signature", "header", {"type": "string", "pattern": '^[a-z*][a-z0-9_.*-]{0,63}=\\("@status" "content-digest" "mytoken";req( "@method";req "@path";req "@query";req( "sealpost-account")?)?\\)(;keyid="[-A-Za-z0-9_]*")?(;nonce="[ !#-\\[\\]-~]{1,64}")?$'},
        "Requests a signed answer (RFC 9421). The signature covers the answer's status, the digest of its body and its `Sealpost-Account`, and the request's `MyToken`, method, path and query. The request must have `MyToken`. On 304 the `ETag` replaces the digest. Without method, path and query a signature is weaker: it also fits the answer to another request with the same `MyToken`. Without `sealpost-account` it also fits the answer to another user's request. The order is free. An unknown `keyid` is ignored. A `nonce` becomes a parameter of the signature. The answer then has `Cache-Control: no-store`.",
        example='sig=("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "sealpost-account")',
    ),
    "Limit": parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}, "The largest number of entries of a page."),
    "NotificationId": parameter("id", "path", schema("NotificationId"), "The notification's number, as in the push's `secureId`."),
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
    "Account": header({"type": "string", "pattern": "^([-A-Za-z0-9_]{21}[AQgw]|none)$"}, "The identifier of the caller, in each answer to a request with valid credentials. It stays the same as long as the user exists, and differs for each user. `none` without valid credentials, if the request asks for a signature over it."),
    "RequestId": header({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}, "The request's id, which is also in the server's log.", True),
    "ContentTypeOptions": header({"const": "nosniff"}, "Browsers must not guess another media type.", True),
    "ResourcePolicy": header({"const": "same-origin"}, "Pages of other origins cannot embed it as an image, a script or the like; CORS is not affected (Fetch standard).", True),
    "ReferrerPolicy": header({"const": "no-referrer"}, "A browser that shows it does not send its address to other sites.", True),
    "TransportSecurity": header({"type": "string", "pattern": "^max-age=[0-9]+$"}, "The seconds for which browsers use TLS only (RFC 6797); present if the server itself has TLS and it is configured."),
    "AllowOrigin": header(TEXT, "The request's `Origin`, if it is allowed: its pages may read the answer. `Vary` then has `Origin`, in its own line."),
    "AllowCredentials": header({"const": "true"}, "Present with `Access-Control-Allow-Origin`: pages may also read answers to requests with credentials."),
    "ExposeHeaders": header(TEXT, "Present with `Access-Control-Allow-Origin`: the fields that scripts may read."),
    "NotStored": header({"const": "no-store"}, "No cache may store it.", True),
    "Freshness": header({"type": "string", "pattern": "^(no-store|private, max-age=[0-9]+)$"}, "The time for which the client's own cache may reuse it. `no-store` if the sender requests it, and for read-once payloads.", True),
    "PublicFreshness": header({"enum": ["no-cache", "no-store"]}, "Any cache may store it, and must revalidate it each time. A signed answer must not be stored.", True),
    "RateLimit": header({"type": "string", "pattern": '^"[a-z]+";r=[0-9]+;t=[0-9]+$'}, "The caller's remaining requests, and the seconds until there is one more (draft-ietf-httpapi-ratelimit-headers). Absent without a limit."),
    "RateLimitPolicy": header({"type": "string", "pattern": '^"[a-z]+";q=[0-9]+;w=[0-9]+$'}, "The quota of the caller's role: the number of requests and the seconds of its window."),
    "ContentDigest": header({"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"}, "The digest of the body (RFC 9530), if the request asks for a signature."),
    "SignatureInput": header({"type": "string", "pattern": '^[a-z*][a-z0-9_.*-]{0,63}=\\("@status" ("content-digest"|"etag") "mytoken";req( "@method";req "@path";req "@query";req( "sealpost-account")?)?\\);created=[0-9]+;keyid="[-A-Za-z0-9_]{43}";alg="ed25519"(;nonce="[ !#-\\[\\]-~]{1,64}")?$'}, "The signed components, the time, the key and the request's nonce (RFC 9421), if the request asks for a signature."),
    "Signature": header({"type": "string", "pattern": "^[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/]{86}==:$"}, "The signature, if the request asks for one."),
    "ListFreshness": header({"type": "string", "pattern": "^(no-store|private, (max-age=[0-9]+|no-cache))$"}, "Caches must revalidate lists each time, unless the configuration says otherwise. `no-store` if the list has a notification that must not be stored.", True),
    "ETag": header({"type": "string", "pattern": '^"[!#-~]+"$'}, "A strong validator (RFC 9110 section 8.8.3). It reveals nothing about the content."),
    "ContentEncoding": header({"const": "gzip"}, "Present if the list is compressed. Its `ETag` then ends with `-gzip`."),
    "LastModified": header(TEXT, "When the notification was created or marked (RFC 9110 section 8.8.2)."),
    "Expires": header(TEXT, "The same as `max-age`, for caches of HTTP/1.0."),
    "Vary": header({"type": "string", "pattern": "^Authorization(, Accept-Encoding)?(, Prefer)?$"}, "A cache that several users of a device share stores one answer for each."),
    "PreferenceApplied": header({"const": "handling=strict"}, "Present if the request preferred strict handling and the server has checked it (RFC 7240 section 3). `Vary` then has `Prefer`, in its own line."),
    "Location": header({"type": "string", "format": "uri-reference"}, "The path of the created resource.", True),
    "Challenge": header(TEXT, "`Basic realm=\"sealpost\", charset=\"UTF-8\"` and `Bearer realm=\"sealpost\"`, one line each (RFC 9110 section 11.6.1).", True),
    "ScopeChallenge": header(TEXT, "Present if the token lacks a scope: all scopes that the request needs (RFC 6750 section 3.1)."),
    "SetCookie": header(TEXT, "For a page: the session's token, or its deletion."),
    "ContentSecurityPolicy": header(TEXT, "Allows scripts and styles of the page's own files and requests to its own server, and forbids frames around it.", True),
    "OpenerPolicy": header({"const": "same-origin"}, "Pages of other origins cannot access its window.", True),
    "Allow": header(TEXT, "The methods that the resource supports.", True),
    "RetryAfter": header({"type": "integer", "minimum": 1}, "The seconds after which the client may retry."),
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
    400: ("BadRequest", "The request is not valid; `detail` has the reason."),
    401: ("Unauthorized", "Credentials are missing or wrong, or the token is invalid, has expired or was revoked."),
    403: ("Forbidden", "The caller may not do this, or a browser has sent the request for a page of another origin."),
    404: ("NotFound", "The resource does not exist, has expired, or belongs to another user: the answer is the same."),
    405: ("MethodNotAllowed", "The resource does not support the method."),
    408: ("RequestTimeout", "The request took too long to arrive."),
    409: ("Conflict", "The present state of the resource does not allow the request."),
    410: ("Gone", "The registration id was retired, or belongs to another user. Request a new one with `POST /api/register`."),
    412: ("PreconditionFailed", "A precondition does not hold."),
    413: ("ContentTooLarge", "The body, or the payload in it, is too large."),
    414: ("URITooLong", "Path and query together are over 8 KiB."),
    417: ("ExpectationFailed", "`Expect` asks for something other than `100-continue`."),
    421: ("MisdirectedRequest", "The host of the request is not in `server.names`."),
    422: ("UnprocessableContent", "The `Idempotency-Key` was used for another request within the last 24 hours."),
    429: ("TooManyRequests", "Too many sign-ins have failed, the caller's quota is used up, or the caller has too many event streams open."),
    431: ("HeaderFieldsTooLarge", "The header fields are too large or too many."),
    500: ("InternalServerError", "An error of the server; its log has the reason under the request's id."),
    501: ("NotImplemented", "The server does not implement the method or the transfer coding."),
    503: ("ServiceUnavailable", "The server cannot take the request now, or cannot store or send. The request has had no effect, unless `detail` says that it may have had one."),
    505: ("VersionNotSupported", "The server supports only HTTP/1.1 and HTTP/1.0."),
    507: ("InsufficientStorage", "The server's disk is full. Nothing was stored; the server accepts writes again once there is space."),
}
# The HTTP server's answers on any path.
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
    return {
        "description": PROBLEMS[status][1],
        "headers": fields,
        "content": {
            "application/problem+json": {
                "schema": schema(f"{PROBLEMS[status][0]}Problem"),
                "example": {"type": f"urn:sealpost:problem:{name}", "title": title, "status": status, "instance": "9f2c"},
            }
        },
    }


def problem_schema(status):
    """The schema of a status's problems, with a name.

    Generators of clients make a type for each schema without a name, in each operation.
    """
    types = [f"urn:sealpost:problem:{name}" for name, code, _ in CODES if code == status]
    words = {"type": {"enum": types}, "status": {"enum": [status]}}
    return {"allOf": [schema("Problem"), {"type": "object", "properties": words}]}


SCHEMAS |= {f"{name}Problem": problem_schema(status) for status, (name, _) in PROBLEMS.items()}


def responses():
    return {name: problem(status) for status, (name, _) in PROBLEMS.items()}
