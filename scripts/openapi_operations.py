"""Every operation of the OpenAPI document: its callers, its input and its answers."""

import re

from openapi_parts import EVERYWHERE, LIMITED, NOT_STORED, PROBLEMS, ROOT, WIRE, parameter, ref, schema

TAGS = [
    {"name": "notifications", "description": "Sending, fetching and recalling."},
    {"name": "devices", "description": "Registering devices, and receiving pushes without a provider."},
    {"name": "sessions", "description": "Tokens instead of passwords."},
    {"name": "administration", "description": "For administrators: users, tokens and the audit."},
    {"name": "operation", "description": "The health and the abilities of the server."},
]

OPERATIONS = []


def operation(method, path, id, tag, summary, description, role, *scopes, seeing=None, parameters=(), body=None, answers, problems=()):
    """An operation of the document.

    `role` is the least role, `None` for anybody. `seeing` is the scope with which viewers may, too.
    `problems` are the statuses that not every operation has.
    """
    known = [] if role is None else [401, 403, 429]
    if role is not None and (method != "GET" or id == "getNotification"):
        known.append(507)
    statuses = sorted({*WIRE, *known, *problems})
    if role is not None:
        least = ["publisher", "admin"] if role == "publisher" else ["admin"]
        roles = (["viewer"] if seeing else []) + least
        may = "For users with the role " + ", ".join(f"`{name}`" for name in roles[:-1]) + " or " * (len(roles) > 1) + f"`{roles[-1]}`" if role != "device" else "For every user"
        with_token = f"; a token needs the scope `{scopes[0]}`" if scopes else ""
        if seeing:
            with_token += f", or, for viewers and administrators, `{seeing}`"
        description += f"\n\n{may}{with_token}."
    else:
        description += "\n\nFor anybody, without credentials."
    entry = {"operationId": id, "tags": [tag], "summary": summary, "description": description}
    if role is None:
        entry["security"] = []
    entry["parameters"] = [*parameters, *(ref("parameters", name) for name in ("MyToken", "RequestId", "TraceParent", "Prefer", "AcceptSignature"))]
    if body is not None:
        entry["requestBody"] = body
    entry["responses"] = {str(status): answer(*parts, role) for status, parts in answers.items()}
    entry["responses"] |= {str(status): ref("responses", PROBLEMS[status][0]) for status in statuses}
    OPERATIONS.append({"path": path, "method": method.lower(), "description": entry})


def answer(description, content, more, role):
    """A successful answer. `content` is a media type and its schema, or the schema of JSON."""
    fields = EVERYWHERE | (LIMITED if role is not None else {})
    links = more.pop("links", None)
    fields |= more or NOT_STORED
    if "Cache-Control" not in fields:
        fields |= NOT_STORED
    result = {"description": description, "headers": fields}
    if content is not None:
        type, content = content if isinstance(content, tuple) else ("application/json", content)
        result["content"] = {type: {"schema": content}}
    if links:
        result["links"] = links
    return result


def ok(description, content=None, **more):
    return {200: (description, content, more)}


def header(name):
    return ref("headers", name)


def json(name, description, required=True):
    content = {"application/json": {"schema": name if isinstance(name, dict) else schema(name)}}
    return {"description": description, "required": required, "content": content}


def link(operation, value, description, parameter="id"):
    return {"operationId": operation, "parameters": {parameter: value}, "description": description}


ID, REGISTRATION = ref("parameters", "NotificationId"), ref("parameters", "RegistrationId")
USER, PREFIX, LIMIT = ref("parameters", "Username"), ref("parameters", "TokenPrefix"), ref("parameters", "Limit")
CONDITIONS = tuple(ref("parameters", name) for name in ("IfMatch", "IfUnmodifiedSince", "IfNoneMatch", "IfModifiedSince"))
VALIDATORS = {"Cache-Control": header("Freshness"), "Vary": header("Vary"), "ETag": header("ETag"), "Expires": header("Expires")}
LIST_VALIDATORS = VALIDATORS | {"Cache-Control": header("ListFreshness")}
PAGES = "The entries come a page at a time."


def cursor(description="`Cursor` of the page before.", schema={"type": "string"}):
    return parameter("cursor", "query", schema, description)


def older(name, schema):
    return parameter(name, "query", schema, "An older name of `cursor`; the two cannot be combined.", deprecated=True)


# MARK: Notifications

SENT = {
    "get": link("getNotification", "$response.body#/Id", "The notification as its recipient fetches it."),
    "confirm": link("confirmNotification", "$response.body#/Id", "Confirms the arrival of a read-once payload."),
    "recall": link("deleteNotification", "$response.body#/Id", "Recalls it."),
    "deliveries": link("listDeliveries", "$response.body#/Id", "The states of its pushes."),
}

operation(
    "POST", "/api/notifications", "sendNotification", "notifications", "Send a notification",
    """\
Stores a payload and pushes its number. The request has three forms. Without a body, the configured text goes to the caller's
own devices. A JSON string goes to the user `to_tag` (default: the caller) on the platform `pns` (default: all). A JSON object
sets all options. The server answers once payload, recipients and pushes are stored durably.

The answer to an object has the options in force, so that a misspelt member shows, and how many users and devices it reaches.
The answer to the other forms is the notification as its recipient fetches it. The parameters of the query are refused as
`unknown-parameter` with an object, and `pns` and `to_tag` also without a body: the notification would go to others than they name.

With `SendAt` the server stores the notification now and sends it then. No recipient sees it before, and it reaches the
recipients that a post at that time would reach. It survives restarts. The server does not send it if its sender was deleted, is
disabled or may no longer send it.

With an `Idempotency-Key`, a repeated request gets the first answer, and nothing is sent twice.

Errors: 400 `unknown-user` if no user of the app has the name after `username:`; 400 `unknown-app` if the caller does not belong to
the app; 400 `unknown-platform` if the platform has no sender; 400 `alert-not-allowed` if the configuration does not list the
`Alert`; 413 if the payload is too long; 409 `too-much-stored` if the caller has reached the storage limit of the role.""",
    "device", "send",
    parameters=(
        parameter("app", "query", schema("App"), "Without a body, or with a string as body: the app."),
        parameter("pns", "query", schema("Platform"), "With a string as body: the platform, in any case of its letters."),
        parameter("to_tag", "query", schema("Username"), "With a string as body: the recipient."),
        ref("parameters", "IdempotencyKey"),
    ),
    body={
        "description": "A text, or the full form.", "required": False,
        "content": {"application/json": {
            "schema": {"anyOf": [{"type": "string", "description": "The payload.", "examples": ["Your test result is in."]}, schema("NotificationOrder")]},
            "examples": {
                "text": {"summary": "A text for the caller", "value": "Your test result is in."},
                "full": {"summary": "The full form", "value": {"Payload": {"Code": "493 021"}, "ExpiresIn": 300, "ReadOnce": True}},
            },
        }},
    },
    answers={
        200: ("The string, or the configured text, was sent.", schema("Notification"), {"links": SENT}),
        201: ("The full form was sent.", schema("SentNotification"), {"Location": header("Location"), "links": SENT}),
    },
    problems=[409, 422],
)
operation(
    "POST", "/api/notifications/batch", "sendNotifications", "notifications", "Send many notifications",
    """\
Sends up to 500 notifications, each as `POST /api/notifications` does with an object. The answer has an outcome for each, in the
order of the request: the answer and the status of a single post. A refused notification does not affect the others. Each counts
as one request of the caller's quota; notifications beyond it have the outcome 429 `rate-limited`. The body has at most 4 MiB,
unless the server is configured otherwise, and 256 KiB for the role `device`.

An error of the whole request, such as invalid JSON or too many elements, is one problem, and nothing is sent. The
parameters `app`, `pns` and `to_tag` of a single post are refused as `unknown-parameter`. With an
`Idempotency-Key`, a repeated request sends nothing twice: stored notifications have the same outcome as before, and the server
now stores the others.

503 `busy`, as the answer or as the outcome of the last elements, means that the server is overloaded: retry later.""",
    "device", "send", parameters=(ref("parameters", "IdempotencyKey"),),
    body=json("NotificationBatch", "The notifications."), answers=ok("Each has an outcome.", schema("BatchOutcomes")), problems=[409, 422],
)
DEVICE_KEY = parameter("key", "query", {"type": "string"}, "The id of the device's key: an end-to-end payload then has the wrapped key of this device, and none otherwise.", example="m2Jx0cQ4lT7vYd3kZp9sAw")

operation(
    "GET", "/api/notifications", "listNotifications", "notifications", "List missed notifications",
    """\
Lists the caller's notifications, the oldest change first, so that a device gets all it has missed in one round trip. Without
`cursor` the list starts at the beginning. With the `Cursor` of the last answer it continues there, and `Deleted` has the
notifications that were dismissed or recalled since. With `ids` it has the named notifications that exist for the caller, and only
`app` and `key` are allowed beside it. A read-once notification comes without its payload; fetch it by its number. Each 16 KiB of
the uncompressed body counts as one more request of the caller's quota.

A cursor of another user, app or `unread` is 400 `invalid-cursor`: restart the list without it.""",
    "device", "fetch",
    parameters=(
        cursor("`Cursor` of the last answer.", schema("Cursor")),
        older("since", schema("Cursor")),
        LIMIT,
        parameter("app", "query", schema("App"), "The app whose notifications are listed. Each app has its own cursors."),
        parameter("unread", "query", {"type": "boolean", "default": False}, "Only unread notifications. Such a list has its own cursors."),
        parameter("ids", "query", {"type": "string", "pattern": "^([1-9][0-9]{0,17}|[1-8][0-9]{18})(,([1-9][0-9]{0,17}|[1-8][0-9]{18})){0,499}$"}, "Up to 500 numbers of notifications, separated by commas. Can be combined with `app` and `key` only.", example="7,9,12"),
        DEVICE_KEY,
        *CONDITIONS,
        ref("parameters", "AcceptEncoding"),
    ),
    answers=ok("A page of notifications.", schema("NotificationList"), **LIST_VALIDATORS, **{"Last-Modified": header("LastModified"), "Content-Encoding": header("ContentEncoding")})
    | {304: ("The client's cached answer is still valid.", None, LIST_VALIDATORS)},
    problems=[412],
)
operation(
    "GET", "/api/notifications/{id}", "getNotification", "notifications", "Fetch a notification",
    """\
Returns the payload to a recipient, or to the publisher that has sent it. The server records the first fetch as the receipt;
only the client changes `Read`. A payload with `ReadOnce` is for recipients only. Each recipient may fetch it until a minute after
its first fetch, or until it confirms the payload with `POST /api/notifications/{id}/taken`; afterwards the answer is 404. The
server erases the payload once all recipients have had it. `HEAD` does not start that minute.""",
    "device", "fetch",
    parameters=(ID, DEVICE_KEY, *CONDITIONS),
    answers=ok("The notification.", schema("Notification"), **VALIDATORS, **{"Last-Modified": header("LastModified")})
    | {304: ("The client's cached answer is still valid.", None, VALIDATORS)},
    problems=[404, 412],
)
operation(
    "POST", "/api/notifications/{id}/taken", "confirmNotification", "notifications", "Confirm a read-once payload",
    """\
Confirms that the caller has received a payload with `ReadOnce`. The caller cannot fetch it again, and the server erases it once
all recipients have had it. Without a confirmation the same happens a minute after the caller's first fetch. A repeated
confirmation, also later, has the same answer and no further effect. 409 `nothing-to-confirm` if the caller has not fetched it, or
if the notification was sent without `ReadOnce`; 404 if the caller is not a recipient.""",
    "device", "fetch", parameters=(ID,), answers={204: ("The caller can no longer fetch it.", None, {})}, problems=[404, 409],
)
operation(
    "PATCH", "/api/notifications/{id}", "markNotification", "notifications", "Mark a notification as read",
    """\
Marks a notification as read or unread for the caller. Only a recipient may: 403 for a sender who is not a recipient. The answer
is that of `GET`, but a read-once notification comes without its payload and is not used up.""",
    "device", "fetch", parameters=(ID, DEVICE_KEY, *CONDITIONS), body=json("ReadMark", "The new read mark."),
    answers=ok("The notification as it is now.", schema("ListedNotification"), **VALIDATORS, **{"Last-Modified": header("LastModified")}),
    problems=[404, 412],
)
operation(
    "POST", "/api/notifications/read", "markNotifications", "notifications", "Mark several as read",
    "Marks notifications as read for the caller. The answer leaves out the ones that do not exist for the caller.",
    "device", "fetch", body=json("ReadOrder", "The notifications."), answers=ok("The notifications that are marked as read now.", schema("ReadList")),
)
operation(
    "DELETE", "/api/notifications/{id}", "deleteNotification", "notifications", "Dismiss or recall a notification",
    """\
A recipient dismisses the notification for itself. Its sender, if a publisher, or an administrator recalls it from everybody: the
server cancels its waiting pushes and erases the payload. Every sender may recall a scheduled notification that is not sent yet.
With a token without the scope `send`, the request only dismisses the notification.""",
    "device", "fetch", parameters=(ID, DEVICE_KEY, *CONDITIONS), answers={204: ("The notification is dismissed or recalled.", None, {})}, problems=[404, 412],
)
EVENT = {"anyOf": [{"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1}, schema("ViewerCursor")]}
operation(
    "GET", "/api/notifications/{id}/deliveries", "listDeliveries", "notifications", "List the pushes of a notification",
    f"Counts a notification's pushes by state and lists them by device, for its sender, viewers and administrators. For a scheduled notification it has the time of the sending. The counts of more than 10,000 pushes may be ten seconds old. With `counts=part` the answer does not wait for the whole count: `Counted` says whether it is complete, and the next request continues the count. {PAGES}",
    "publisher", "send", seeing="view",
    parameters=(
        ID, LIMIT,
        cursor(schema={"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1, "default": 0}),
        parameter("counts", "query", {"enum": ["all", "part"], "default": "all"}, "`part`: `Counts` may cover a part of the pushes, so that the answer does not wait."),
    ),
    answers=ok("The counts, and a page of the devices.", schema("Deliveries")), problems=[404],
)
operation(
    "GET", "/api/notifications/{id}/recipients", "listRecipients", "notifications", "List the recipients of a notification",
    f"Lists the recipients of a notification, for its sender, viewers and administrators, with the times at which each has fetched, read and dismissed it, whether or not it has a device. {PAGES}",
    "publisher", "send", seeing="view", parameters=(ID, LIMIT, cursor(schema={"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1})),
    answers=ok("A page of recipients.", schema("RecipientList")), problems=[404],
)
PERIOD = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "pattern": "^[0-9]{1,4}[smhd]$"}]}
operation(
    "GET", "/api/deliveries", "listFailures", "administration", "List failed pushes",
    f"""\
Lists the failed pushes of all notifications, the newest first. A failed push is listed until its notification expires. The list
has no looks, which are silent pushes that belong to no notification. {PAGES}

A request examines at most 5,000 failed pushes, so a page may have fewer than `limit`, or none, while `More` is true: its `Cursor`
continues the search.""",
    "admin", "manage", seeing="view",
    parameters=(
        LIMIT,
        cursor(schema=schema("FailureCursor")),
        parameter("state", "query", {"enum": ["failed"], "default": "failed"}, "The state of the pushes."),
        parameter("since", "query", PERIOD, "Only pushes that have failed since this time (RFC 3339), or within this period: a number of seconds, minutes, hours or days, such as `90m`. Default: all.", example="1h"),
        parameter("app", "query", {"type": "string", "pattern": "^[-_a-z0-9]{1,64}$"}, "Only pushes to devices of this app."),
        parameter("user", "query", schema("Username"), "Only pushes to devices of this user."),
    ),
    answers=ok("A page of failed pushes.", schema("FailureList")), problems=[404],
)
DEVICE = parameter("device", "path", schema("RegistrationId"), "The device, as in `Device` of the list.")
operation(
    "POST", "/api/notifications/{id}/deliveries/{device}", "retryDelivery", "notifications", "Try a push at once",
    """\
Makes a push that waits for its retry due at once, for the notification's sender and for administrators. A paused lane stays
paused, a push that is being sent continues, and a delay that the provider has requested for the device stays. 204 also if the push
was due already. 409 if it has ended, or waits until its device opens an event stream.""",
    "publisher", "send", parameters=(ID, DEVICE), answers={204: ("The push is due.", None, {})}, problems=[404, 409],
)
operation(
    "DELETE", "/api/notifications/{id}/deliveries/{device}", "cancelDelivery", "notifications", "Cancel a push",
    """\
Cancels the push to one device, for the notification's sender and for administrators. The notification stays and can be fetched as
before. A push that is being sent is not retried, and the provider's answer decides its state. 204 also if it was cancelled
already; 409 if it has ended otherwise.""",
    "publisher", "send", parameters=(ID, DEVICE), answers={204: ("The push is cancelled.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/events", "listEvents", "notifications", "List events",
    f"""\
Lists the outcomes of pushes, the first fetches of notifications by users, and the ends of registrations, the oldest first. An
administrator or a viewer gets all events, a publisher the events of its own notifications. Send `Cursor` as `cursor` (or `since`) to get later
events; without it, the list begins with the oldest stored event. An event is stored in the same commit as its change, and no event
appears later below a listed number. 404 unless the server is configured to keep events. {PAGES}""",
    "publisher", "send", seeing="view",
    parameters=(
        LIMIT, cursor(schema=EVENT),
        parameter("since", "query", EVENT, "Another name of `cursor`; the two cannot be combined."),
    ),
    answers=ok("A page of events.", schema("EventList")), problems=[404],
)

# MARK: Devices

operation(
    "POST", "/api/register", "requestRegistration", "devices", "Request a registration id",
    """\
Returns a new id, as a JSON string. With `handle`, returns the id of the caller's registration of that handle, if there is one, and
deletes its duplicates. The server ignores a body.""",
    "device", "register",
    parameters=(parameter("handle", "query", schema("Handle"), "The device's address at its provider, if it has one already."),),
    answers=ok("The id.", schema("RegistrationId"), links={
        "register": link("register", "$response.body#", "Registers a device under the id."),
        "unregister": link("unregister", "$response.body#", "Deletes the registration."),
    }),
)
operation(
    "GET", "/api/register", "listRegistrations", "devices", "List one's own devices",
    """\
Lists the caller's devices, and for 30 days the devices whose handle another user has registered since; only these have
`RetiredAt`. A handle that waits for its confirmation is not listed.""",
    "device", "register", answers=ok("The devices.", {"type": "array", "items": schema("Device")}),
)
operation(
    "PUT", "/api/register/{id}", "register", "devices", "Register a device",
    """\
Registers the handle and the topics of a device; repeat it whenever they change. A handle belongs to one user: registering it
moves it from its former user, and the server cancels the former user's waiting pushes to it. A handle that can be guessed (of a
sender of the type `webhook`) is registered once the caller has returned the code that the server pushes to it. Until then nothing
changes, and no other push goes there. The answer is the same whether the handle is free or belongs to another user.

Errors: 400 `unknown-platform` if the platform has no sender; 409 `too-many-devices` at the device limit of the caller's role; 429
`too-many-confirmations` for more than 20 handles within an hour that wait for their confirmation; 410 if the id was retired, or was
not issued to this user: request a new id.

With a session's token the device belongs to that session, and is retired when the session is ended: register again with the next
session's token.""",
    "device", "register", parameters=(REGISTRATION,),
    body=json("DeviceRegistration", "The device."), answers=ok("The device is registered, or waits for its confirmation; the body is empty."), problems=[409, 410],
)
operation(
    "POST", "/api/register/{id}/confirmation", "confirmRegistration", "devices", "Confirm a handle",
    """\
Returns the code that the server pushed to the handle. This registers the handle, and retires the registration that had it before.
Repeating the code is not an error. A code is valid for an hour, until five wrong codes were returned or the server pushed another
one; 409 `confirmation-refused` means that this code is not valid. To get another code, register again after a minute.""",
    "device", "register", parameters=(REGISTRATION,),
    body=json("ConfirmationCode", "The code."), answers=ok("The handle is registered; the body is empty."), problems=[404, 409, 410],
)
operation(
    "DELETE", "/api/register/{id}", "unregister", "devices", "Unregister a device",
    "Deletes a registration of the caller. Repeating it, or using another user's id, is not an error and changes nothing.",
    "device", "register", parameters=(REGISTRATION,), answers=ok("The registration is deleted; the body is empty."),
)
TOPIC = parameter("topic", "path", {"type": "string", "pattern": "^[-A-Za-z0-9_@#+.:]{1,120}$", "not": {"enum": [".", ".."]}}, "The topic: a tag that a device may choose, percent-encoded.", example="news")

operation(
    "PUT", "/api/devices/{id}/topics/{topic}", "joinTopic", "devices", "Join a topic",
    """\
Adds a tag to the caller's device. Later notifications to the topic are for the device and its user. Repeating it changes nothing. A
registration replaces all topics.

Errors: 400 `invalid-parameter` for a reserved topic, or for more than 60 topics; 410 if the id was not issued to the caller, or was
retired; 404 if the device has not registered yet.""",
    "device", "register", parameters=(REGISTRATION, TOPIC), answers={204: ("The device is in the topic.", None, {})}, problems=[404, 410],
)
operation(
    "DELETE", "/api/devices/{id}/topics/{topic}", "leaveTopic", "devices", "Leave a topic",
    """\
Removes a tag from the caller's device. Repeating it, or leaving a topic that the device is not in, changes nothing. Tags that an
administrator or a publisher has assigned to the user stay.""",
    "device", "register", parameters=(REGISTRATION, TOPIC), answers={204: ("The device is not in the topic.", None, {})}, problems=[404, 410],
)
operation(
    "PUT", "/api/devices/{id}/key", "setDeviceKey", "devices", "Set a device's keys",
    """\
Stores the public keys of one of the caller's devices for end-to-end encryption, with the approvals of the account's other devices.
The server checks their form, their points, the device's own signature, and that they are of the caller's account; senders decide
which keys they trust. 404 if the caller has no registered device of this id.""",
    "device", "register", parameters=(REGISTRATION,), body=json("NewDeviceKey", "The keys."), answers={204: ("The keys are stored.", None, {})}, problems=[404],
)
operation(
    "GET", "/api/keys", "listDeviceKeys", "devices", "List the keys of recipients",
    """\
Lists the devices that would get a notification for a tag expression now, by their users, with their public keys for end-to-end
encryption. 400 `audience-too-large` if more than 1,000 devices or users match.""",
    "publisher", "send",
    parameters=(
        parameter("to", "query", {"type": "string", "minLength": 1}, "A tag expression, as in `To` of a notification. Default: the caller.", example="username:alice"),
        parameter("app", "query", schema("App"), "The app of the devices."),
    ),
    answers=ok("The users.", schema("DeviceKeys")),
)
operation(
    "POST", "/api/devices/{id}/test", "testDevice", "devices", "Push to a device",
    "Sends a test push to one of the caller's devices, or for an administrator to any device, and waits up to 20 seconds for the provider's answer. If the lane is paused, or has no sender, the answer comes at once.",
    "device", "send", parameters=(REGISTRATION,), answers=ok("The outcome.", schema("DeviceTest")), problems=[404],
)
operation(
    "GET", "/api/stream", "openStream", "devices", "Receive pushes as server-sent events",
    """\
Holds a stream open for the caller's devices on a platform of the type `stream`, or for one of them. Each event has the
notification's number as its `id` and `{"secureId":"…"}` as its `data`; a comment comes every few seconds. The stream ends when the
credentials end or the devices change. The client then connects again, with the last number as `Last-Event-ID`. A user may have 20
streams open.

The client syncs each time its stream opens. If `GET /api/notifications/{id}` answers 404 for an event's number, the client syncs,
too: the event may be a look, which says that another device has changed something.""",
    "device", "fetch",
    parameters=(
        parameter("device", "query", {"type": "string"}, "One registration's id; without it, all of the caller's devices."),
        parameter("Last-Event-ID", "header", {"type": "string"}, "The `id` of the last event that was received, WHATWG HTML section 9.2.4. A value that is not a number is ignored.", example="1202590843"),
    ),
    answers=ok("The events, one after the other.", ("text/event-stream", {"type": "string"})), problems=[404],
)
operation(
    "GET", "/api/webpush/key", "getWebPushKey", "devices", "Get the key that browsers subscribe with",
    "Returns the key that a page passes to `subscribe` as `applicationServerKey`. 404 if there is no sender of the type `webpush`.",
    "device", "register", parameters=(parameter("app", "query", schema("App"), "The app of the page."),),
    answers=ok("The key.", schema("WebPushKey")), problems=[404],
)

# MARK: Sessions

operation(
    "POST", "/api/sessions", "beginSession", "sessions", "Sign in",
    """\
Starts a session and returns its token once: in the answer, or in a cookie for the console's page. A session needs the password:
with a token the answer is 403. If a user has too many sessions, the oldest ends.""",
    "device", body=json("SessionOrder", "The rights and the lifetime of the token. Without a body: all rights of the role.", required=False),
    answers={201: ("The token, or with `Cookie` all but the token.", {"anyOf": [schema("Session"), schema("SessionView")]}, {"Location": header("Location"), "Set-Cookie": header("SetCookie")})},
)
operation(
    "GET", "/api/sessions/current", "getSession", "sessions", "Get the signed-in user",
    "Returns the caller's name, role and scopes. A reloaded page gets its value of `Page-Token` again, and sends any value with this request.",
    "device", answers=ok("The caller.", schema("SessionView")),
)
operation(
    "DELETE", "/api/sessions/current", "endSession", "sessions", "Sign out",
    "Ends the token of this request at once. If it is a session's token, also retires the devices that were last registered with it. 404 for a caller without a token.",
    "device", answers={204: ("The token is no longer valid.", None, {"Set-Cookie": header("SetCookie"), **NOT_STORED})}, problems=[404],
)
operation(
    "PUT", "/api/users/current/password", "changeOwnPassword", "sessions", "Change one's own password",
    """\
Sets a new password of the caller, ends the caller's sessions, and retires the devices that were last registered with one of them.
The request must have the present password: 403 `wrong-password` otherwise, and 429 after several wrong ones.""",
    "device", body=json("PasswordChange", "The present password, and the new one."), answers={204: ("The change is stored.", None, {})},
)

operation(
    "GET", "/api/why/{id}", "explain", "administration", "Explain what became of pushes",
    """\
Explains why a phone got a notification or not: for a user or a device, the newest notification or the given one; for a
notification, its pushes. The first of a user, a device and a notification that exists counts. The sentences name no handle and
have no payload.""",
    "admin", "manage", seeing="view",
    parameters=(
        parameter("id", "path", {"type": "string", "minLength": 1, "maxLength": 128}, "The name of a user, the id of a device, or the number of a notification.", example="alice"),
        parameter("notification", "query", schema("NotificationId"), "The notification to explain for the user or the device. Default: the newest."),
    ),
    answers=ok("The explanation.", schema("Explanation")), problems=[404],
)

# MARK: Administration

operation(
    "POST", "/api/users", "addUser", "administration", "Add a user", "Creates a user. 409 if a user has that name.",
    "admin", "manage", body=json("UserOrder", "The user."),
    answers={201: ("The user was created.", schema("NewUser"), {"Location": header("Location"), "links": {
        "show": link("showUser", "$response.body#/Name", "The user."),
        "change": link("changeUser", "$response.body#/Name", "Changes the user."),
        "delete": link("deleteUser", "$response.body#/Name", "Deletes the user."),
    }})},
    problems=[409],
)
USER_CURSOR = {"anyOf": [schema("Username"), schema("ViewerCursor")]}
operation(
    "GET", "/api/users", "listUsers", "administration", "List users", f"Lists all users. {PAGES}", "admin", "manage", seeing="view",
    parameters=(LIMIT, cursor(schema=USER_CURSOR), older("after", USER_CURSOR)),
    answers=ok("A page of users.", schema("UserList")),
)
operation(
    "GET", "/api/users/{id}", "showUser", "administration", "Show a user", "Shows one user.", "admin", "manage", seeing="view",
    parameters=(USER,), answers=ok("The user.", schema("User")), problems=[404],
)
operation(
    "PATCH", "/api/users/{id}", "changeUser", "administration", "Change a user",
    """\
Changes role, apps or password, or disables or enables the user; all changes apply from the next request on. One enabled
administrator must remain: 409 otherwise.""",
    "admin", "manage", parameters=(USER,), body=json("UserChange", "The changes."),
    answers={204: ("The change is stored.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/users/{id}/tags", "showUserTags", "administration", "Show a user's tags",
    """\
Shows the tags assigned to the user, in order, without the topics of the devices. A publisher may do so for users with the role
`device` all of whose apps it has: 403 for other users of its apps, and 404 for all others.""",
    "publisher", "manage", parameters=(USER,), answers=ok("The tags.", schema("UserTags")), problems=[404],
)
operation(
    "PUT", "/api/users/{id}/tags", "setUserTags", "administration", "Set a user's tags",
    """\
Replaces the tags assigned to a user. They apply to all devices of the user, and the user may read the notifications to them, also
without a device. They apply to later notifications; earlier ones stay readable. A publisher may do so for users with the role
`device` all of whose apps it has: 403 for other users of its apps, and 404 for all others.""",
    "publisher", "manage", parameters=(USER,), body=json("UserTags", "All tags of the user."),
    answers={204: ("The user has these tags.", None, {})}, problems=[404],
)
operation(
    "POST", "/api/users/{id}/enrolment", "makeEnrolmentCode", "administration", "Create a code for a device",
    """\
Creates a one-time code with which a device of the user gets a token with these scopes. A publisher may do so for users with the
role `device` that have no password and all of whose apps it has: 403 for other users of its apps, and 404 for all others. An
administrator may do so for all users.""",
    "publisher", "manage", parameters=(USER,), body=json("EnrolmentOrder", "The scopes and the lifetime.", required=False),
    answers={201: ("The code, shown only here.", schema("EnrolmentCode"), {"Location": header("Location")})}, problems=[404],
)
operation(
    "POST", "/api/enrolment", "enrol", "sessions", "Exchange a code for a token",
    "Exchanges the code for a token of the user. A code works once, until it expires; 403 otherwise, and 429 after too many wrong codes.",
    None, body=json("Enrolment", "The code."),
    answers={201: ("A token.", schema("EnrolledSession"), {"Location": header("Location")})}, problems=[403, 429, 507],
)
operation(
    "DELETE", "/api/users/{id}", "deleteUser", "administration", "Delete a user",
    "Deletes a user with all devices and tokens at once. The last administrator cannot be deleted: 409.",
    "admin", "manage", parameters=(USER,), answers={204: ("The user is deleted.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/devices", "listDevices", "administration", "List devices",
    f"Lists the registrations of one user or of all users, including requested and retired ones. {PAGES}",
    "admin", "manage", seeing="view",
    parameters=(
        LIMIT,
        cursor(schema=schema("DeviceCursor")),
        parameter("user", "query", schema("Username"), "The user of the devices. Default: all users."),
    ),
    answers=ok("A page of devices.", schema("DeviceList")), problems=[404],
)
operation(
    "DELETE", "/api/devices/{id}", "deleteDevice", "administration", "Unregister any device",
    """\
Ends a registration of any user, and cancels its waiting pushes. The device can register again under the same id: to keep its user
out, disable the user.""",
    "admin", "manage", parameters=(REGISTRATION,), answers={204: ("The registration is ended.", None, {})}, problems=[404],
)
operation(
    "POST", "/api/tokens", "addToken", "administration", "Create a token",
    "Creates a token for any user. 400 `unknown-user` if no user has that name, and 403 if the user is disabled.",
    "admin", "manage", body=json("TokenOrder", "The user, the scopes and the lifetime."),
    answers={201: ("The token.", schema("NewToken"), {"Location": header("Location"), "links": {"revoke": link("deleteToken", "$response.body#/Prefix", "Revokes the token.")}})},
)
operation(
    "GET", "/api/tokens", "listTokens", "administration", "List tokens",
    f"Lists the valid tokens of one user or of all users, without their secrets. {PAGES}", "admin", "manage",
    parameters=(
        LIMIT,
        cursor(schema=schema("TokenPrefix")),
        older("after", schema("TokenPrefix")),
        parameter("user", "query", schema("Username"), "The user of the tokens. Default: all users."),
    ),
    answers=ok("A page of tokens.", schema("TokenList")),
)
operation(
    "DELETE", "/api/tokens/{id}", "deleteToken", "administration", "Revoke a token",
    "Ends a token of any user at once. If it is a session's token, also retires the devices that were last registered with it.", "admin", "manage", parameters=(PREFIX,),
    answers={204: ("The token is no longer valid.", None, {})}, problems=[404],
)
AUDITED = re.findall(r'case \w+ = "([a-z]+\.[a-z]+)"', (ROOT / "Sources/PushCore/Audit/AuditRecord.swift").read_text())
ACTIONS = sorted(set(AUDITED) | {action.split(".")[0] for action in AUDITED})
ENTRY = {"anyOf": [{"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}, schema("ViewerCursor")]}
operation(
    "GET", "/api/audit", "listAudit", "administration", "Read the audit",
    f"""\
Lists the entries of the audit, the newest first. {PAGES}

With a filter the server searches from the newest entry, or from `cursor`. A request searches at most 5,000 entries, so a
page may have fewer entries than `limit`, or none, while `More` is true: its `Cursor` continues the search.""", "admin", "manage", seeing="view",
    parameters=(
        LIMIT,
        cursor(schema=ENTRY),
        older("before", ENTRY),
        parameter("words", "query", {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S"}, "Only entries whose texts have each of these words, separated by spaces, in any case: a part of a name, a number, an address or a request's id."),
        parameter("action", "query", {"type": "string", "enum": ACTIONS}, "Only entries of this action, or of all actions of this kind, such as `user`."),
        parameter("user", "query", schema("Username"), "Only entries of which this user is the actor or the subject, or the owner of the device; the end of a device with its session has no owner. The user may have been deleted."),
        parameter("since", "query", PERIOD, "Only entries since this time (RFC 3339), or within this period, as `90m`. Default: all.", example="7d"),
    ),
    answers=ok("A page of entries.", schema("Audit")),
)

operation(
    "POST", "/api/setup", "setUp", "administration", "Create the first administrator",
    "Creates the first user, an administrator, with the code of the link that a server without users prints at its start. The code works once, within an hour; 403 otherwise.",
    None, body=json("SetupOrder", "The administrator."),
    answers={201: ("The administrator was created and can sign in.", schema("Named"), {"Location": header("Location")})}, problems=[403, 507],
)
operation(
    "GET", "/api/status", "getStatus", "administration", "Get the status of the server",
    "Shows the lanes with their queues and pauses, the scheduled notifications, the credentials that expire, and the last hour.",
    "admin", "manage", seeing="view", answers=ok("The status.", schema("Status")),
)
operation(
    "POST", "/api/lanes/retry", "retryLane", "administration", "Retry a paused lane at once",
    "Ends the pause of a lane, after you have corrected its cause. The server tries its pushes at once; if the provider refuses them, the lane pauses again. Changes nothing for a lane that is not paused.",
    "admin", "manage", body=json("LaneOrder", "The lane."),
    answers={204: ("The lane is retried.", None, {})}, problems=[404],
)

# MARK: Operation

operation(
    "GET", "/healthz", "isAlive", "operation", "Ask whether the server is alive",
    "Answers as long as the server runs.", None, answers=ok("The server is alive.", schema("Health")),
)
operation(
    "GET", "/readyz", "isReady", "operation", "Ask whether the server is ready",
    "Answers with 503 while the server cannot store or return notifications; `detail` has the reason. A paused lane does not count: see the metrics. While the server rejects the machine's clock, the answer is 200 with `Warnings`.",
    None, answers=ok("The server can store and return notifications.", schema("Health")),
)
operation(
    "GET", "/metrics", "getMetrics", "operation", "Read the metrics",
    "Returns the metrics in Prometheus' text format.", "admin", "manage", seeing="metrics",
    answers=ok("The metrics.", ("text/plain", {"type": "string"})),
)
operation(
    "GET", "/openapi.json", "getDescription", "operation", "Read this document",
    "Returns this document, which changes only with the server's version.", None,
    parameters=(ref("parameters", "IfNoneMatch"),),
    answers=ok("The document.", {"type": "object", "required": ["openapi", "info", "paths"], "properties": {"openapi": {"type": "string"}}},
        **{"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})
    | {304: ("The client's cached answer is still valid.", None, {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})},
)
operation(
    "GET", "/.well-known/sealpost-keys", "getSignatureKeys", "operation", "Read the keys of signed answers",
    "Returns the public keys for the signatures of answers, as a JSON Web Key Set; the first key signs.", None,
    answers=ok("The keys.", schema("SignatureKeys"), **{"Cache-Control": header("PublicFreshness")}),
)

# MARK: Console

FILE = {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness"), "Content-Security-Policy": header("ContentSecurityPolicy"), "Cross-Origin-Opener-Policy": header("OpenerPolicy")}
UNCHANGED = {304: ("The client's cached answer is still valid.", None, {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})}

for path, name in [("/", "findConsoleFromRoot"), ("/console", "findConsole")]:
    operation(
        "GET", path, name, "operation", "Find the console",
        "Redirects to the console, `/console/`.", None,
        answers={308: ("The address of the console.", None, {"Location": header("Location"), "Cache-Control": header("PublicFreshness")})},
    )
operation(
    "GET", "/console/", "getConsole", "operation", "Open the console",
    "Returns the page with which administrators operate the server.", None,
    parameters=(ref("parameters", "IfNoneMatch"),), answers=ok("The page.", ("text/html", {"type": "string"}), **FILE) | UNCHANGED,
)
operation(
    "GET", "/console/{id}", "getConsoleFile", "operation", "Get a file of the console",
    "Returns a script, the style sheet or the icon of the console's page.", None,
    parameters=(parameter("id", "path", {"type": "string", "pattern": "^[-A-Za-z0-9_.]+$", "not": {"enum": [".", ".."]}}, "The file's name."), ref("parameters", "IfNoneMatch")),
    answers={200: ("The file; the style sheet as `text/css`, the icon as `image/svg+xml`.", ("text/javascript", {"type": "string"}), dict(FILE))} | UNCHANGED, problems=[404],
)
