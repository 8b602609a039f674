"""The calls of a backend."""

from __future__ import annotations

import base64
import collections.abc
import itertools
import random
import re
import secrets
import ssl
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar, Union
from urllib.parse import quote, urlencode

from .checks import GREATEST_TOKEN, Request, Verifier, check
from .errors import Interference, Problem, SealpostError, StateChanged, decoded, problem
from .transport import Transport
from .values import (
    Delivery, DeliveryCounts, Device, Event, EventPage, Lane, Notification, Recipient, Sent, Status, UserKeys, encoded, end_of, idempotency_key, must_be, named_user, positive, read,
    read_all, text_list, user, visible,
)

T = TypeVar("T")
# The maximum number of elements and of bytes in a batch. The number is the server's limit; the
# bytes are below the default of `notifications.maxBatch`.
BATCH_ELEMENTS = 500
BATCH_BYTES = 4_000_000
# The maximum number of entries in a page of a list.
PAGE = 500
# The methods of the API.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# The path and the query of RFC 3986.
PATH = re.compile(r"/([-A-Za-z0-9._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*")
# The delay before an attempt is random, below a limit in seconds. The limit doubles with each
# attempt, from the first value to the second.
FIRST_DELAY, LAST_DELAY = 0.25, 30.0


class Client:
    """A backend's connection to a Sealpost server, for one account. Several threads may share it.

    `token` is a publisher's token, or a function that returns the current token. In its place, `user`
    can be a user name and a password. Each attempt ends after `timeout` seconds, each call after
    `deadline` seconds with all its retries. A call retries temporary failures, waits at least as long
    as `Retry-After` says, and repeats a post under its idempotency key only. `signing_keys` pins the
    server's keys: then each answer must be signed, which needs the package `cryptography`.
    `is_insecure_allowed` allows `http` for other hosts than this machine: on the way there, others can
    read the token.
    """

    def __init__(
        self, server: str, token: Union[str, Callable[[], str], None] = None, *, user: Optional[Tuple[str, str]] = None,
        timeout: float = 10, deadline: float = 60, context: Optional[ssl.SSLContext] = None,
        signing_keys: Optional[Iterable[str]] = None, account: Optional[str] = None, is_insecure_allowed: bool = False,
    ):
        if (token is None) == (user is None):
            raise ValueError("a client needs either a token or a user")
        must_be(str, server=server)
        must_be(bool, is_insecure_allowed=is_insecure_allowed)
        for name, value in (("token", None if callable(token) else token), ("account", account)):
            if value is not None:
                visible(name, value)
        if user is not None and len(text_list("user", user)) != 2:
            raise ValueError("user must be a name and a password")
        self._transport = Transport(server, context, is_insecure_allowed)
        self._token, self._user = token, user
        self._timeout, self._deadline = positive("timeout", timeout), positive("deadline", deadline)
        self._verifier = None if signing_keys is None else Verifier(signing_keys)
        self._account = account

    @property
    def deadline(self) -> float:
        """The time limit of a call without its own, in seconds."""
        return self._deadline

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes idle connections."""
        self._transport.close()

    # Sending

    def send(self, notification: Notification, *, key: Optional[str] = None, deadline: Optional[float] = None) -> Sent:
        """Sends a notification, once: all attempts have one idempotency key.

        `key` is an idempotency key that you choose, such as the number of an order. For 24 hours a repeated
        call with the same key sends nothing twice, even after a restart of the program. It must pass an
        equal notification: with another notification the call raises `Refused` with the code
        `idempotency-key-reused`.
        """
        key, body = idempotency_key(key), _body(notification)
        return self._call("POST", "/api/notifications", lambda value: read(Sent, value), body, key=key, deadline=deadline)

    def send_many(
        self, notifications: Iterable[Notification], *, key: Optional[str] = None, deadline: Optional[float] = None,
    ) -> List[Union[Sent, Problem]]:
        """Sends notifications in as few requests as possible. Returns the outcome of each notification, in their order.

        One refused notification does not affect the others, and raises no error: check the outcomes. The
        deadline is for all requests together. If the call raises an error, or an outcome `is_transient`,
        repeat it with the same notifications and the same `key`.
        """
        must_be(collections.abc.Iterable, notifications=notifications)
        key, end = idempotency_key(key), end_of(self, deadline)
        outcomes: List[Union[Sent, Problem]] = []
        for number, pieces in enumerate(_batches([_body(notification) for notification in notifications])):
            body = b'{"Notifications":[' + b",".join(pieces) + b"]}"
            try:
                outcomes += self._call(
                    "POST", "/api/notifications/batch", lambda value: _outcomes(value, len(pieces)), body,
                    key=f"{key}-{number}", end=end,
                )
            except _Unfinished as error:
                outcomes += error.outcomes
            except SealpostError as error:
                error.idempotency_key = key
                raise
        return outcomes

    def recall(self, id: int, *, deadline: Optional[float] = None) -> bool:
        """Recalls a notification from all recipients, or cancels it before its `send_at`.

        The token needs the scopes `send` and `fetch`. Returns False if this account has no such
        notification: it has expired, or an earlier call or attempt has recalled it.
        """
        return self._delete(_path(id), deadline)

    # Outcomes

    def counts(self, id: int, *, deadline: Optional[float] = None) -> DeliveryCounts:
        """The number of a notification's pushes in each state."""
        return self._call("GET", _path(id) + "/deliveries", lambda value: read(DeliveryCounts, value), query={"limit": 1}, deadline=deadline)

    def deliveries(self, id: int, *, deadline: Optional[float] = None) -> Iterator[Delivery]:
        """A notification's pushes, which the iterator requests page by page. The deadline is for each page."""
        return self._pages(_path(id) + "/deliveries", Delivery, "Deliveries", {"counts": "part"}, deadline)

    def recipients(self, id: int, *, deadline: Optional[float] = None) -> Iterator[Recipient]:
        """A notification's recipients, with the times at which they have fetched, read and dismissed it.

        The iterator requests them page by page. The deadline is for each page.
        """
        return self._pages(_path(id) + "/recipients", Recipient, "Recipients", {}, deadline)

    def events(self, cursor: Optional[str] = None, *, limit: int = 500, deadline: Optional[float] = None) -> EventPage:
        """The page of events after a cursor; without a cursor, the oldest events.

        The server must be configured to store events.
        """
        query = {"limit": limit, **({} if cursor is None else {"cursor": cursor})}
        return self._call("GET", "/api/events", _event_page, query=query, deadline=deadline)

    # Tags

    def tags(self, name: str, *, deadline: Optional[float] = None) -> List[str]:
        """The tags assigned to a user; the token needs the scope `manage`."""
        return self._call("GET", _user_path(name) + "/tags", lambda value: list(value["Tags"]), deadline=deadline)

    def set_tags(self, name: str, tags: Sequence[str], *, deadline: Optional[float] = None) -> None:
        """Replaces the tags assigned to a user; the token needs the scope `manage`."""
        body = encoded({"Tags": text_list("tags", tags)})
        self._call("PUT", _user_path(name) + "/tags", lambda _: None, body, deadline=deadline)

    # Users and devices, for an administrator's token with the scope `manage`

    def add_user(
        self, name: str, *, role: str = "device", password: Optional[str] = None, deadline: Optional[float] = None,
    ) -> None:
        """Makes a user, without a password if you pass none. Is not retried.

        If a user of this name exists, raises `StateChanged` with the code `conflict`.
        """
        user(name)
        secret = {"WithoutPassword": True} if password is None else {"Password": password}
        self.call("POST", "/api/users", {"Name": name, "Role": role, **secret}, deadline=deadline)

    def set_disabled(self, name: str, is_disabled: bool, *, deadline: Optional[float] = None) -> None:
        """Disables a user, whom the server then refuses at once, or enables the user again."""
        must_be(bool, is_disabled=is_disabled)
        self._call("PATCH", _user_path(name), lambda _: None, encoded({"Disabled": is_disabled}), deadline=deadline)

    def delete_user(self, name: str, *, deadline: Optional[float] = None) -> bool:
        """Deletes a user with all devices and tokens.

        Returns False if there is no such user, also if an attempt whose answer was lost has deleted the user.
        """
        return self._delete(_user_path(name), deadline)

    def devices(self, name: str, *, deadline: Optional[float] = None) -> Iterator[Device]:
        """The devices of a user, which the iterator requests page by page. The deadline is for each page."""
        user(name)
        return self._pages("/api/devices", Device, "Devices", {"user": name}, deadline)

    def status(self, *, deadline: Optional[float] = None) -> Status:
        """The server's version and faults, and its queues."""
        return self._call("GET", "/api/status", _status, deadline=deadline)

    # End-to-end encryption

    def device_keys(self, expression: str, *, app: Optional[str] = None, deadline: Optional[float] = None) -> List[UserKeys]:
        """The users of a tag expression with the keys of their devices.

        `sealpost.end_to_end` checks and uses the keys.
        """
        must_be(str, expression=expression)
        query = {"to": expression, **({} if app is None else {"app": app})}
        found = self._call("GET", "/api/keys", lambda value: [_user_keys(item) for item in value["Users"]], query=query, deadline=deadline)
        name = named_user(expression)
        if name is not None and any(item.name.lower() != name.lower() for item in found):
            raise Interference("unexpectedBody", 200)  # The list for one user must not have keys of other users.
        if len({item.name.lower() for item in found}) < len(found):
            raise Interference("unexpectedBody", 200)  # The server lists all keys of a user together.
        return found

    # Other calls

    def call(
        self, method: str, path: str, body: Any = None, *, query: Optional[Dict[str, Any]] = None, deadline: Optional[float] = None,
    ) -> Any:
        """Sends any other request of docs/api.md. Returns the answer's JSON with the API's names; None without a body.

        Percent-encode the names in `path`, which may have a query. A `POST` is not retried.
        """
        must_be(str, path=path)
        # Another path would become a part of the host's name, and that host would get the token.
        if not path.startswith("/"):
            raise ValueError("a path begins with a slash, such as /api/users")
        if not PATH.fullmatch(path):
            raise ValueError(f"path: percent-encode the names in {path[:100]!r}")
        if method not in METHODS:
            raise ValueError(f"method: {method!r:.40} is not one of {', '.join(METHODS)}")
        if body is not None and method in ("GET", "HEAD"):
            raise ValueError(f"body: a request with {method} has no body; use `query`")
        content = None if body is None else encoded(body)
        if method == "POST":
            return self._attempt(method, path, lambda value: value, content, query, None, end_of(self, deadline))
        return self._call(method, path, lambda value: value, content, query=query, deadline=deadline)

    # Requests

    def _delete(self, path: str, deadline: Optional[float]) -> bool:
        """Deletes something. Returns False if it does not exist, for example after a lost answer."""
        try:
            self._call("DELETE", path, lambda _: None, deadline=deadline)
        except StateChanged as error:
            if error.code != "not-found":
                raise
            return False
        return True

    def _pages(self, path: str, kind: Type[T], name: str, query: Dict[str, Any], deadline: Optional[float]) -> Iterator[T]:
        query = {"limit": PAGE, **query}
        while True:
            page, cursor, more = self._call(
                "GET", path, lambda value: (read_all(kind, value[name]), value["Cursor"], value["More"]), query=query, deadline=deadline,
            )
            yield from page
            if not more:
                return
            query["cursor"] = cursor

    def _call(
        self, method: str, path: str, result: Callable[[Any], T], body: Optional[bytes] = None, *,
        query: Optional[Dict[str, Any]] = None, key: Optional[str] = None,
        deadline: Optional[float] = None, end: Optional[float] = None,
    ) -> T:
        """Sends a request, and repeats it until its answer is final.

        A repetition of the request must have no second effect.
        """
        end = end_of(self, deadline) if end is None else end
        for number in itertools.count():
            try:
                return self._attempt(method, path, result, body, query, key, end)
            except SealpostError as error:
                error.idempotency_key = key
                backoff = random.uniform(0.5, 1) * min(FIRST_DELAY * 2**min(number, 10), LAST_DELAY)
                delay = (error.retry_after or 0) + backoff
                if not error.is_transient or time.monotonic() + delay >= end:
                    raise
            time.sleep(delay)
        raise AssertionError("unreachable")

    def _attempt(
        self, method: str, path: str, result: Callable[[Any], T], body: Optional[bytes],
        query: Optional[Dict[str, Any]], key: Optional[str], end: float,
    ) -> T:
        # The server signs path and query apart.
        path, _, own = path.partition("?")
        pairs = "&".join(part for part in (own, urlencode(query or {})) if part)
        request = Request(method, path, f"?{pairs}" if pairs else "", secrets.randbelow(GREATEST_TOKEN + 1))
        fields = {"Authorization": self._authorization(), "MyToken": str(request.token), "Prefer": "handling=strict"}
        if body is not None:
            fields["Content-Type"] = "application/json"
        if key is not None:
            fields["Idempotency-Key"] = key
        if self._verifier:
            fields["Accept-Signature"] = self._verifier.accept_signature
        end = min(end, time.monotonic() + self._timeout)
        answer = self._transport.exchange(method, path + request.query, fields, body, end)
        self._account = check(request, answer, self._account, self._verifier, time.time())
        try:
            value = decoded(answer.body) if answer.body else None
        except ValueError as error:
            raise Interference("notJSON", answer.status) from error
        try:
            if answer.status >= 400:
                raise problem(value, answer.status, answer.retry_after)
            return result(value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Interference("unexpectedBody", answer.status, answer.retry_after) from error

    def _authorization(self) -> str:
        if self._user:
            return "Basic " + base64.b64encode(":".join(self._user).encode()).decode()
        return f"Bearer {visible('token', self._token() if callable(self._token) else self._token)}"


class _Unfinished(SealpostError):
    """Raised if some elements of a batch may succeed later.

    A repetition of the request sends only these elements, because all elements have idempotency keys.
    """

    is_transient = True

    def __init__(self, outcomes: List[Union[Sent, Problem]]):
        super().__init__("some notifications were not sent")
        self.outcomes = outcomes


def _outcomes(value: Any, count: int) -> List[Union[Sent, Problem]]:
    outcomes = [
        read(Sent, outcome) if outcome["Status"] == 201 else problem(outcome["Problem"], outcome["Status"])
        for outcome in value["Outcomes"]
    ]
    if len(outcomes) != count:
        raise ValueError("there is not one outcome for each notification")
    if any(isinstance(outcome, Problem) and outcome.is_transient for outcome in outcomes):
        raise _Unfinished(outcomes)
    return outcomes


def _batches(bodies: List[bytes]) -> Iterator[List[bytes]]:
    """Divides notifications into batches.

    The same notifications give the same batches, since each batch has its own idempotency key.
    """
    batch: List[bytes] = []
    length = 0
    for body in bodies:
        if batch and (len(batch) == BATCH_ELEMENTS or length + len(body) >= BATCH_BYTES):
            yield batch
            batch, length = [], 0
        batch.append(body)
        length += len(body) + 1
    if batch:
        yield batch


def _event_page(value: Any) -> EventPage:
    return EventPage(read_all(Event, value["Events"]), value["Cursor"], value["More"], value["Truncated"])


def _user_keys(value: Any) -> UserKeys:
    keys = [device["Key"] for device in value["Devices"]]
    texts = [value["Name"], value["Account"], *(key for key in keys if key is not None)]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a key is not a text")
    return UserKeys(value["Name"], value["Account"], keys)


def _status(value: Any) -> Status:
    lanes = [
        Lane(lane["Name"], lane["Pending"], lane["OverdueSeconds"], lane["Pause"] and lane["Pause"]["Reason"]) for lane in value["Lanes"]
    ]
    return Status(value["Version"], list(value["Troubles"]), lanes)


def _body(notification: Notification) -> bytes:
    must_be(Notification, notification=notification)
    return notification.body()


def _path(id: int) -> str:
    must_be(int, id=id)
    return f"/api/notifications/{id}"


def _user_path(name: str) -> str:
    user(name)  # Checks the name.
    if name in (".", ".."):
        raise ValueError(f"{name!r} cannot be a part of a path: proxies and libraries would remove it")
    return f"/api/users/{quote(name, safe='')}"
