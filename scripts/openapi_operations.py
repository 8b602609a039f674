"""Every operation of the OpenAPI document: who may, what it takes, and what it answers."""

import re

from openapi_parts import EVERYWHERE, LIMITED, NOT_STORED, PROBLEMS, ROOT, WIRE, parameter, ref, schema

TAGS = [
    {"name": "notifications", "description": "Sending, collecting and taking back."},
    {"name": "devices", "description": "Registering, in the dialect of Microsoft's tutorial, and pushing without a provider."},
    {"name": "sessions", "description": "Tokens in the place of passwords."},
    {"name": "administration", "description": "For administrators: users, tokens and who did what."},
    {"name": "operation", "description": "How the server is, and what it can do."},
]

OPERATIONS = []


def operation(method, path, id, tag, summary, description, role, *scopes, parameters=(), body=None, answers, problems=()):
    """`role` is the least one, `None` for anybody; `problems` are those statuses that not every operation has."""
    known = [] if role is None else [401, 403, 429]
    if role is not None and (method != "GET" or id == "getNotification"):
        known.append(507)
    statuses = sorted({*WIRE, *known, *problems})
    if role is not None:
        may = f"For users with the role `{role}` or a higher one" if role != "device" else "For every user"
        with_token = f"; a token needs the scope `{scopes[0]}`" if scopes else ""
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
    """An answer that is no problem. `content` is a media type and its schema, or the schema of JSON."""
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
    return parameter(name, "query", schema, "What `cursor` was called before; not beside it.", deprecated=True)


# MARK: Notifications

SENT = {
    "get": link("getNotification", "$response.body#/Id", "What was sent, as its recipient collects it."),
    "confirm": link("confirmNotification", "$response.body#/Id", "Confirms its arrival, where it is read once."),
    "recall": link("deleteNotification", "$response.body#/Id", "Takes it back."),
    "deliveries": link("listDeliveries", "$response.body#/Id", "What became of its pushes."),
}

operation(
    "POST", "/api/notifications", "sendNotification", "notifications", "Send a notification",
    """\
Stores a payload and pushes its number. There are three forms: without a body the text of the configuration goes to the
caller's own devices; a JSON string goes to the user of `to_tag`, by default the caller, on the platform of `pns`, by default
all; a JSON object says all of it. The answer comes when payload, recipients and the work of pushing are safe on the disk.

The answer to an object has the options in force, so that a misspelt member shows, and how many users and devices it reaches.
The answer to the other forms is the notification as its recipient collects it. With `Prefer: handling=strict`, `pns` and
`to_tag` are refused unless the body is a string.

With `SendAt` it is stored now and sent then: no recipient sees it before, and it reaches whom a post of that moment would
reach. It survives restarts, and is not sent if its sender is deleted, disabled or may not send it any more.

With an `Idempotency-Key` a request that is sent again is answered as the first time, and nothing is sent twice.

A `username:` that no user of the app has is 400 `unknown-user`, an app of which the caller is not 400 `unknown-app`, a platform without a
sender 400 `unknown-platform`, an `Alert` that the configuration does not list 400 `alert-not-allowed`, a payload that is too long 413,
and 409 `too-much-stored` if the caller has as much stored as its role may.""",
    "device", "send",
    parameters=(
        parameter("app", "query", schema("App"), "Without a body or with a string: the app."),
        parameter("pns", "query", schema("Platform"), "With a string as body: the platform, in any case of its letters."),
        parameter("to_tag", "query", schema("Username"), "With a string as body: the user to whom it goes."),
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
        200: ("A text was sent, or the one of the configuration.", schema("Notification"), {"links": SENT}),
        201: ("The full form was sent.", schema("SentNotification"), {"Location": header("Location"), "links": SENT}),
    },
    problems=[409, 422],
)
operation(
    "POST", "/api/notifications/batch", "sendNotifications", "notifications", "Send many notifications",
    """\
Sends up to 500 notifications, each as `POST /api/notifications` does with its object. The answer has an outcome for each, in the
order of the request: what the single post would have been answered, with its status. One that is refused changes nothing for the
others. Each counts as one request of the caller's quota: those beyond it are 429 `rate-limited` among the outcomes. A body has 4 MiB
at most, unless the server is configured otherwise, and that of a caller with the role `device` 128 KiB.

What is wrong with the request as a whole, such as text that is not JSON, or no or too many elements, is one problem, and nothing is
sent. With an `Idempotency-Key` a request that is sent again sends nothing twice: what the first one stored has the same outcome,
and what it could not store any more is stored now.

503 `busy` as the answer, or as the outcome of the last elements, says that too much is to do at the moment.""",
    "device", "send", parameters=(ref("parameters", "IdempotencyKey"),),
    body=json("NotificationBatch", "The notifications."), answers=ok("Each has an outcome.", schema("BatchOutcomes")), problems=[409, 422],
)
operation(
    "GET", "/api/notifications", "listNotifications", "notifications", "List what was missed",
    """\
Gives the caller's notifications, the oldest change first: all that a device has missed, in one round trip. Without `cursor` it
begins at the beginning; with the `Cursor` of the answer before it goes on where that one ended, and what was dismissed or
recalled meanwhile is in `Deleted`. With `ids` it gives those of the named ones that are there for the caller, and can have no
other parameter than `app`. What may be read once comes without its payload, to be collected by itself. Each 16 KiB of the body, before it is
compressed, counts as one more request of the caller's quota.

A cursor that is not of this user, app and `unread` is 400 `invalid-cursor`: begin anew without it.""",
    "device", "fetch",
    parameters=(
        cursor("`Cursor` of the answer before.", schema("Cursor")),
        older("since", schema("Cursor")),
        LIMIT,
        parameter("app", "query", schema("App"), "The app whose notifications are listed. Each has cursors of its own."),
        parameter("unread", "query", {"type": "boolean", "default": False}, "Only what was not read. Such a list has cursors of its own."),
        parameter("ids", "query", {"type": "string", "pattern": "^([1-9][0-9]{0,17}|[1-8][0-9]{18})(,([1-9][0-9]{0,17}|[1-8][0-9]{18})){0,499}$"}, "Up to 500 numbers of notifications, with commas in between; alone.", example="7,9,12"),
        *CONDITIONS,
        ref("parameters", "AcceptEncoding"),
    ),
    answers=ok("A page of notifications.", schema("NotificationList"), **LIST_VALIDATORS, **{"Last-Modified": header("LastModified"), "Content-Encoding": header("ContentEncoding")})
    | {304: ("It is as the client has it.", None, LIST_VALIDATORS)},
    problems=[412],
)
operation(
    "GET", "/api/notifications/{id}", "getNotification", "notifications", "Collect a notification",
    """\
Gives the payload to a recipient, or to the publisher that has sent it. The first fetch is noted as the receipt; `Read`
changes only when the client says so. A payload with `ReadOnce` is for recipients only: each may fetch it for a minute from
its own first fetch on, or until it says with `POST /api/notifications/{id}/taken` that the payload has arrived; afterwards the
answer is 404, and when all recipients have had it, it is erased. `HEAD` does not begin that minute.""",
    "device", "fetch",
    parameters=(ID, *CONDITIONS),
    answers=ok("The notification.", schema("Notification"), **VALIDATORS, **{"Last-Modified": header("LastModified")})
    | {304: ("It is as the client has it.", None, VALIDATORS)},
    problems=[404, 412],
)
operation(
    "POST", "/api/notifications/{id}/taken", "confirmNotification", "notifications", "Confirm a payload that is read once",
    """\
Says for the caller that a payload with `ReadOnce` has arrived: it is not given to the caller again, and it is erased if all
recipients have had theirs. Without it that happens by itself a minute after the caller's first fetch. To say so again, also
later, has the same answer and no further effect. 409 `nothing-to-confirm` if the caller has not fetched it, or if the
notification was sent without `ReadOnce`; 404 if the caller is no recipient.""",
    "device", "fetch", parameters=(ID,), answers={204: ("It is not given to the caller any more.", None, {})}, problems=[404, 409],
)
operation(
    "PATCH", "/api/notifications/{id}", "markNotification", "notifications", "Mark a notification as read",
    """\
Says for the caller that it was read, or was not after all. Only a recipient may: 403 for a sender who is no recipient. The answer is
that of `GET`; what may be read once is not taken with it and comes without its payload.""",
    "device", "fetch", parameters=(ID, *CONDITIONS), body=json("ReadMark", "How it shall be marked."),
    answers=ok("The notification as it is now.", schema("ListedNotification"), **VALIDATORS, **{"Last-Modified": header("LastModified")}),
    problems=[404, 412],
)
operation(
    "POST", "/api/notifications/read", "markNotifications", "notifications", "Mark several as read",
    "Says for the caller that they were read. Those that are not there for it are left out of the answer.",
    "device", "fetch", body=json("ReadOrder", "Which ones."), answers=ok("Those that are read now.", schema("ReadList")),
)
operation(
    "DELETE", "/api/notifications/{id}", "deleteNotification", "notifications", "Dismiss or recall a notification",
    """\
A recipient dismisses the notification for itself. Its sender, if it is a publisher, or an administrator recalls it from
everybody: pushes that have not been sent are cancelled, and the payload is erased. What is scheduled and not sent yet every sender
may take back. With a token without the scope `send` one's own is always only dismissed.""",
    "device", "fetch", parameters=(ID, *CONDITIONS), answers={204: ("It is gone.", None, {})}, problems=[404, 412],
)
EVENT = {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1}
operation(
    "GET", "/api/notifications/{id}/deliveries", "listDeliveries", "notifications", "List what became of the pushes",
    f"Tells when a notification will be sent if it is scheduled, counts its pushes by state and lists them by device, for its sender and for administrators. The counts of more than 10,000 pushes may be ten seconds old. With `counts=part` the answer does not wait until all are counted: `Counted` tells whether it has all, and the next request goes on. {PAGES}",
    "publisher", "send",
    parameters=(
        ID, LIMIT,
        cursor(schema={"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1, "default": 0}),
        parameter("counts", "query", {"enum": ["all", "part"], "default": "all"}, "`part`: `Counts` may be of a part, so that the answer does not wait."),
    ),
    answers=ok("The counts, and a page of the devices.", schema("Deliveries")), problems=[404],
)
DEVICE = parameter("device", "path", schema("RegistrationId"), "The device, as `Device` of the list has it.")
operation(
    "POST", "/api/notifications/{id}/deliveries/{device}", "retryDelivery", "notifications", "Try a push at once",
    """\
A push that waits for its next try is due at once, for its sender and for administrators. A paused lane stays paused; a push that is
being sent goes on, and a device that must be left alone for a while is. 204 also if it was due already. 409 if it has ended, or waits
until its device opens an event stream.""",
    "publisher", "send", parameters=(ID, DEVICE), answers={204: ("It is due.", None, {})}, problems=[404, 409],
)
operation(
    "DELETE", "/api/notifications/{id}/deliveries/{device}", "cancelDelivery", "notifications", "Cancel a push",
    """\
The push to one device is not sent, and the notification stays: it can be fetched as before. One that is being sent at this moment is
not tried again, and its answer decides how it counts. For its sender and for administrators.
Again 204 if it is cancelled already; 409 if it has ended otherwise.""",
    "publisher", "send", parameters=(ID, DEVICE), answers={204: ("It is cancelled.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/events", "listEvents", "notifications", "List events",
    f"""\
Lists what became of pushes, who has fetched a notification for the first time, and which registrations have ended, the oldest
first: for administrators all events, for publishers those of their own notifications. Pass `Cursor` on as `cursor` (or `since`)
to get what has happened since; without it, the list begins with the oldest event that is kept. An event is listed in the commit
that stores the change it tells of, and none appears later below a number that was listed. 404 unless the server is configured
to keep events. {PAGES}""",
    "publisher", "send",
    parameters=(
        LIMIT, cursor(schema=EVENT),
        parameter("since", "query", EVENT, "Another name of `cursor`; not beside it."),
    ),
    answers=ok("A page of events.", schema("EventList")), problems=[404],
)

# MARK: Devices

operation(
    "POST", "/api/register", "requestRegistration", "devices", "Ask for a registration id",
    """\
Gives out a new id, as a quoted JSON string. With `handle`, an existing registration of the caller for that handle is given
again, and its doubles go. A body is allowed and means nothing.""",
    "device", "register",
    parameters=(parameter("handle", "query", schema("Handle"), "The device's address at its provider, if it has one already."),),
    answers=ok("The id.", schema("RegistrationId"), links={
        "register": link("register", "$response.body#", "Registers a device under the id."),
        "unregister": link("unregister", "$response.body#", "Gives the id up."),
    }),
)
operation(
    "GET", "/api/register", "listRegistrations", "devices", "List the own devices",
    """\
Lists the caller's devices, and for 30 days those whose handle another account has registered since; only these have
`RetiredAt`. A handle that waits for its confirmation is not in the list.""",
    "device", "register", answers=ok("The devices.", {"type": "array", "items": schema("Device")}),
)
operation(
    "PUT", "/api/register/{id}", "register", "devices", "Register a device",
    """\
Says under which address a device is reached, and what it wants to hear of; to be repeated whenever that changes. A handle
belongs to one user: registering it moves it from its former owner, and what waits for the former owner is cancelled there.
A handle that can be guessed, which is one of a sender of the type `webhook`, is registered when the caller has returned the code
that is pushed to it; until then nothing changes, and no other push goes there. The answer is the same, whether the handle
is free or another's.

A platform that no sender is configured for is 400 `unknown-platform`, and a device more than the caller's role may have 409
`too-many-devices`. More than 20 handles within an hour that wait for their confirmation are 429
`too-many-confirmations`. 410 means that the id was retired, or was not issued to this account: a new one always heals that.

With a session's token the device belongs to that session, and is retired when somebody ends it: register again with the next one.""",
    "device", "register", parameters=(REGISTRATION,),
    body=json("DeviceRegistration", "The device."), answers=ok("It is registered, or waits for its confirmation; the body is empty."), problems=[409, 410],
)
operation(
    "POST", "/api/register/{id}/confirmation", "confirmRegistration", "devices", "Confirm a handle",
    """\
Returns the code that was pushed to the handle of the registration, which registers it and retires whatever registration had it
before. The same code again is no error. A code is good for an hour, and until five wrong ones were returned or another was
pushed; 409 `confirmation-refused` means that this one is not. To have another pushed, register again after a minute.""",
    "device", "register", parameters=(REGISTRATION,),
    body=json("ConfirmationCode", "The code."), answers=ok("It is registered; the body is empty."), problems=[404, 409, 410],
)
operation(
    "DELETE", "/api/register/{id}", "unregister", "devices", "Unregister a device",
    "Deletes a registration of the caller's. To do it again, or for an id that is not the caller's, is no error, and changes nothing.",
    "device", "register", parameters=(REGISTRATION,), answers=ok("It is gone; the body is empty."),
)
TOPIC = parameter("topic", "path", {"type": "string", "pattern": "^[-A-Za-z0-9_@#.:]{1,120}$", "not": {"enum": [".", ".."]}}, "The topic: a tag that a device may give itself, percent-encoded.", example="news")

operation(
    "PUT", "/api/devices/{id}/topics/{topic}", "joinTopic", "devices", "Join a topic",
    """\
Adds one tag to those of the caller's device, as registering anew with it would: what is sent to the topic from now on is for the
device and its user. To do it again changes nothing. A registration replaces all of them.

A reserved topic is 400 `invalid-parameter`, and so is one more than 60; an id that was not issued to the caller, or was retired,
410; 404 if the device has not registered yet.""",
    "device", "register", parameters=(REGISTRATION, TOPIC), answers={204: ("The device is in the topic.", None, {})}, problems=[404, 410],
)
operation(
    "DELETE", "/api/devices/{id}/topics/{topic}", "leaveTopic", "devices", "Leave a topic",
    """\
Removes one tag from those of the caller's device. To do it again, or for a topic that the device is not in, changes nothing. What
the user was given by an administrator or a publisher stays.""",
    "device", "register", parameters=(REGISTRATION, TOPIC), answers={204: ("The device is not in the topic.", None, {})}, problems=[404, 410],
)
operation(
    "POST", "/api/devices/{id}/test", "testDevice", "devices", "Push to a device",
    "Sends a test push to one of the caller's devices, for an administrator to any, and waits up to 20 seconds for what its provider says.",
    "device", "send", parameters=(REGISTRATION,), answers=ok("What came of it.", schema("DeviceTest")), problems=[404],
)
operation(
    "GET", "/api/stream", "openStream", "devices", "Receive pushes as server-sent events",
    """\
Holds a stream open for those devices of the caller that are registered on a platform of the type `stream`, or for one of
them. Each event has the notification's number as its `id` and `{"secureId":"…"}` as its `data`; a comment comes every few
seconds. The stream ends when the credentials do, or the devices change; a client then connects again, with the last number as
`Last-Event-ID`. A user may hold 20 open.""",
    "device", "fetch",
    parameters=(
        parameter("device", "query", {"type": "string"}, "One registration's id; without it, all of the caller's devices."),
        parameter("Last-Event-ID", "header", {"type": "string"}, "The `id` of the last event that was received, WHATWG HTML section 9.2.4. What is no number asks for nothing.", example="1202590843"),
    ),
    answers=ok("The events, one after the other.", ("text/event-stream", {"type": "string"})), problems=[404],
)
operation(
    "GET", "/api/webpush/key", "getWebPushKey", "devices", "Get the key that browsers subscribe with",
    "Gives what a page passes to `subscribe` as `applicationServerKey`. 404 if there is no sender of the type `webpush`.",
    "device", "register", parameters=(parameter("app", "query", schema("App"), "The app of the page."),),
    answers=ok("The key.", schema("WebPushKey")), problems=[404],
)

# MARK: Sessions

operation(
    "POST", "/api/sessions", "beginSession", "sessions", "Sign in",
    """\
Gives a token in the place of the password, once: in the answer, or in a cookie for the console's page. A session begins with
the password: with a token the answer is 403. When a user has too many sessions the oldest ends.""",
    "device", body=json("SessionOrder", "What the token shall be good for; all that the role may do, if there is no body.", required=False),
    answers={201: ("The token, or with `Cookie` all but the token.", {"anyOf": [schema("Session"), schema("SessionView")]}, {"Location": header("Location"), "Set-Cookie": header("SetCookie")})},
)
operation(
    "GET", "/api/sessions/current", "getSession", "sessions", "Ask who is signed in",
    "Tells any caller who it is. A page that was loaded anew gets the value for `Page-Token` again, and sends any value with this request.",
    "device", answers=ok("Who calls.", schema("SessionView")),
)
operation(
    "DELETE", "/api/sessions/current", "endSession", "sessions", "Sign out",
    "Ends the token of this request, at once, and retires the devices that were last registered with it, if it is a session's. 404 for a caller that came without one.",
    "device", answers={204: ("The token is no longer good.", None, {"Set-Cookie": header("SetCookie"), **NOT_STORED})}, problems=[404],
)
operation(
    "PUT", "/api/users/current/password", "changeOwnPassword", "sessions", "Change the own password",
    """\
Gives the caller another password, ends its sessions and retires the devices that were last registered with one. The caller must know the present one: 403 otherwise, and
429 after several wrong ones.""",
    "device", body=json("PasswordChange", "The present password, and the new one."), answers={204: ("It is changed.", None, {})},
)

# MARK: Administration

operation(
    "POST", "/api/users", "addUser", "administration", "Add a user", "Makes a user. 409 if there is one of that name.",
    "admin", "manage", body=json("UserOrder", "The user."),
    answers={201: ("The user was made.", schema("NewUser"), {"Location": header("Location"), "links": {
        "show": link("showUser", "$response.body#/Name", "The user."),
        "change": link("changeUser", "$response.body#/Name", "Changes the user."),
        "delete": link("deleteUser", "$response.body#/Name", "Deletes the user."),
    }})},
    problems=[409],
)
operation(
    "GET", "/api/users", "listUsers", "administration", "List users", f"Lists all users. {PAGES}", "admin", "manage",
    parameters=(LIMIT, cursor(schema=schema("Username")), older("after", schema("Username"))),
    answers=ok("A page of users.", schema("UserList")),
)
operation(
    "GET", "/api/users/{id}", "showUser", "administration", "Show a user", "Shows one user.", "admin", "manage",
    parameters=(USER,), answers=ok("The user.", schema("User")), problems=[404],
)
operation(
    "PATCH", "/api/users/{id}", "changeUser", "administration", "Change a user",
    """\
Changes role, password, or whether the user is disabled; all of it holds from the next request on. There is always an
administrator who is not disabled: a change that would leave none is 409.""",
    "admin", "manage", parameters=(USER,), body=json("UserChange", "What shall be other."),
    answers={204: ("It is changed.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/users/{id}/tags", "showUserTags", "administration", "Show a user's tags",
    """\
Shows the tags that the user was given, in order; not those that its devices have given themselves. A publisher may do so for users with
the role `device` that belong to no other app than its own: 403 for other users of its apps, and 404 for all others.""",
    "publisher", "manage", parameters=(USER,), answers=ok("The tags.", schema("UserTags")), problems=[404],
)
operation(
    "PUT", "/api/users/{id}/tags", "setUserTags", "administration", "Give a user tags",
    """\
Replaces the tags of a user. They hold for all its devices, and the user may read what is sent to them, also without a
device. They count for notifications that are sent afterwards; earlier ones stay readable. A publisher may do so for users with the role
`device` that belong to no other app than its own: 403 for other users of its apps, and 404 for all others.""",
    "publisher", "manage", parameters=(USER,), body=json("UserTags", "All tags that the user shall have."),
    answers={204: ("The user has these tags.", None, {})}, problems=[404],
)
operation(
    "POST", "/api/users/{id}/enrolment", "makeEnrolmentCode", "administration", "Make a code for a device",
    """\
Makes a code with which a device of the user gets a token, once, with these scopes. A publisher, as the app's own backend, may do so for
users with the role `device` that have no password and belong to no other app than its own: 403 for other users of its apps, and 404
for all others. An administrator may do so for all.""",
    "publisher", "manage", parameters=(USER,), body=json("EnrolmentOrder", "The scopes and the time.", required=False),
    answers={201: ("The code, shown only here.", schema("EnrolmentCode"), {"Location": header("Location")})}, problems=[404],
)
operation(
    "POST", "/api/enrolment", "enrol", "sessions", "Exchange a code for a token",
    "Gives a device the token of its user. A code works once and until its time is over; 403 otherwise, and 429 after too many wrong ones.",
    None, body=json("Enrolment", "The code."),
    answers={201: ("A token.", schema("EnrolledSession"), {"Location": header("Location")})}, problems=[403, 429, 507],
)
operation(
    "DELETE", "/api/users/{id}", "deleteUser", "administration", "Delete a user",
    "Deletes a user with all devices and tokens, at once. The last administrator stays: 409.",
    "admin", "manage", parameters=(USER,), answers={204: ("The user is gone.", None, {})}, problems=[404, 409],
)
operation(
    "GET", "/api/devices", "listDevices", "administration", "List devices",
    f"Lists the registrations of one user or of all, those included whose device has not registered yet or was retired. {PAGES}",
    "admin", "manage",
    parameters=(
        LIMIT,
        cursor(schema=schema("DeviceCursor")),
        parameter("user", "query", schema("Username"), "Whose devices; all, if it is left out."),
    ),
    answers=ok("A page of devices.", schema("DeviceList")),
)
operation(
    "DELETE", "/api/devices/{id}", "deleteDevice", "administration", "Unregister any device",
    """\
Ends a registration of any user, and cancels the pushes that wait for it. The device may register again under the same id: to
keep its user out, disable the user.""",
    "admin", "manage", parameters=(REGISTRATION,), answers={204: ("It is gone.", None, {})}, problems=[404],
)
operation(
    "POST", "/api/tokens", "addToken", "administration", "Make a token",
    "Makes a token for any user. 400 `unknown-user` if there is none of that name.",
    "admin", "manage", body=json("TokenOrder", "Whose, and what for."),
    answers={201: ("The token.", schema("NewToken"), {"Location": header("Location"), "links": {"revoke": link("deleteToken", "$response.body#/Prefix", "Revokes the token.")}})},
)
operation(
    "GET", "/api/tokens", "listTokens", "administration", "List tokens",
    f"Lists the tokens that are good, of one user or of all, without their secrets. {PAGES}", "admin", "manage",
    parameters=(
        LIMIT,
        cursor(schema=schema("TokenPrefix")),
        older("after", schema("TokenPrefix")),
        parameter("user", "query", schema("Username"), "Whose tokens; all, if it is left out."),
    ),
    answers=ok("A page of tokens.", schema("TokenList")),
)
operation(
    "DELETE", "/api/tokens/{id}", "deleteToken", "administration", "Revoke a token",
    "Ends a token of any user, at once; with a session's, the devices that were last registered with it.", "admin", "manage", parameters=(PREFIX,),
    answers={204: ("It is no longer good.", None, {})}, problems=[404],
)
AUDITED = re.findall(r'case \w+ = "([a-z]+\.[a-z]+)"', (ROOT / "Sources/PushCore/AuditRecord.swift").read_text())
ACTIONS = sorted(set(AUDITED) | {action.split(".")[0] for action in AUDITED})
ENTRY = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}
operation(
    "GET", "/api/audit", "listAudit", "administration", "Read the audit",
    f"""\
Lists who did what, the newest first. {PAGES}

With `words` or `action` it is searched, from the newest entry or `cursor` on. A request looks at 5,000 entries at most, so that a
page may have fewer entries than `limit`, or none, and yet `More` be true: its `Cursor` goes on searching.""", "admin", "manage",
    parameters=(
        LIMIT,
        cursor(schema=ENTRY),
        older("before", ENTRY),
        parameter("words", "query", {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S"}, "Only entries that have each of these words, with blanks in between, somewhere in their texts, in upper or lower case: a part of a name, a number, an address, a request's id."),
        parameter("action", "query", {"type": "string", "enum": ACTIONS}, "Only entries of this action, or of all whose name begins with this and a point."),
    ),
    answers=ok("A page of entries.", schema("Audit")),
)

operation(
    "POST", "/api/setup", "setUp", "administration", "Make the first administrator",
    "Makes the first user, an administrator, for whoever has the code of the link that a server without users prints when it starts. It works once, within an hour; 403 otherwise.",
    None, body=json("SetupOrder", "The administrator."),
    answers={201: ("The administrator was made and may sign in.", schema("Named"), {"Location": header("Location")})}, problems=[403, 507],
)
operation(
    "GET", "/api/status", "getStatus", "administration", "See how the server is doing",
    "Shows the lanes with their queues and pauses, what is scheduled, what ends soon, and the last hour.",
    "admin", "manage", answers=ok("The status.", schema("Status")),
)
operation(
    "POST", "/api/lanes/retry", "retryLane", "administration", "Try a paused lane at once",
    "Ends the pause of a lane whose cause has been mended: its pushes are tried at once, and if the provider refuses them it pauses again. Changes nothing for a lane that is not paused.",
    "admin", "manage", body=json("LaneOrder", "The lane."),
    answers={204: ("It is tried.", None, {})}, problems=[404],
)

# MARK: Operation

operation(
    "GET", "/healthz", "isAlive", "operation", "Ask whether the server is alive",
    "Answers as long as the process does.", None, answers=ok("It is alive.", schema("Health")),
)
operation(
    "GET", "/readyz", "isReady", "operation", "Ask whether the server is ready",
    "Answers with 503 as long as something keeps the server from storing or handing out; `detail` says what. A provider that takes no pushes is not meant: that shows in the metrics. While the machine's clock is not believed, the answer is 200 with `Warnings`.",
    None, answers=ok("It can store and hand out.", schema("Health")),
)
operation(
    "GET", "/metrics", "getMetrics", "operation", "Read the metrics",
    "Gives numbers in the text format of Prometheus.", "admin", "manage",
    answers=ok("The metrics.", ("text/plain", {"type": "string"})),
)
operation(
    "GET", "/openapi.json", "getDescription", "operation", "Read this document",
    "Gives this document, which changes with the version of the server only.", None,
    parameters=(ref("parameters", "IfNoneMatch"),),
    answers=ok("The document.", {"type": "object", "required": ["openapi", "info", "paths"], "properties": {"openapi": {"type": "string"}}},
        **{"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})
    | {304: ("It is as the client has it.", None, {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})},
)
operation(
    "GET", "/.well-known/sealpost-keys", "getSignatureKeys", "operation", "Read the keys of signed answers",
    "Gives the public halves of the keys that answers are signed with, as a JSON Web Key Set; the first one signs.", None,
    answers=ok("The keys.", schema("SignatureKeys"), **{"Cache-Control": header("PublicFreshness")}),
)

# MARK: Console

FILE = {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness"), "Content-Security-Policy": header("ContentSecurityPolicy"), "Cross-Origin-Opener-Policy": header("OpenerPolicy")}
UNCHANGED = {304: ("It is as the client has it.", None, {"ETag": header("ETag"), "Cache-Control": header("PublicFreshness")})}

operation(
    "GET", "/console", "findConsole", "operation", "Find the console",
    "Leads to the console, `/console/`.", None,
    answers={308: ("Its address.", None, {"Location": header("Location"), "Cache-Control": header("PublicFreshness")})},
)
operation(
    "GET", "/console/", "getConsole", "operation", "Open the console",
    "Gives the page with which administrators operate the server.", None,
    parameters=(ref("parameters", "IfNoneMatch"),), answers=ok("The page.", ("text/html", {"type": "string"}), **FILE) | UNCHANGED,
)
operation(
    "GET", "/console/{id}", "getConsoleFile", "operation", "Get a file of the console",
    "Gives a script, the style sheet or the icon of the console's page.", None,
    parameters=(parameter("id", "path", {"type": "string"}, "The file's name."), ref("parameters", "IfNoneMatch")),
    answers={200: ("The file; the style sheet as `text/css`, the icon as `image/svg+xml`.", ("text/javascript", {"type": "string"}), dict(FILE))} | UNCHANGED, problems=[404],
)
