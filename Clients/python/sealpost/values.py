"""The values of the API. Member names are those of docs/api.md in Python's spelling."""

from __future__ import annotations

import dataclasses
import json
import numbers
import re
import sys
import time
import uuid
from datetime import datetime, timedelta
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Type, TypeVar, Union

NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_@#+.")
# The maximum number of levels of nesting of a body: the server's limit for JSON.
MAXIMUM_BODY_LEVELS = 64
T = TypeVar("T")


def user(name: str) -> str:
    """The tag expression of one user.

    Raises `ValueError` for a name with characters that could change the expression.
    """
    must_be(str, name=name)
    if not 1 <= len(name) <= 100 or not NAME.issuperset(name):
        raise ValueError(f"{name!r} is not the name of a user")
    return f"username:{name}"


def named_user(expression: str) -> Optional[str]:
    """The name in a tag expression of one user, as the server reads it; None for any other expression."""
    found = re.fullmatch(r"[ (]*username:([-A-Z0-9_@#+.]{1,100})[ )]*", expression, re.ASCII | re.IGNORECASE)
    return found and found[1]


class _Caller(Tuple[str, ...]):
    """The default of `to`. It is not None, since a missing variable can be None: the message would be lost."""


@dataclasses.dataclass(frozen=True)
class Notification:
    """A notification to send; docs/api.md has each member's meaning and default.

    `to` has tag expressions; without them the user of the token is the recipient. `send_at` needs a
    time zone.
    """

    payload: Any
    to: Union[str, Sequence[str]] = _Caller()
    app: Optional[str] = None
    platforms: Optional[Sequence[str]] = None
    send_at: Optional[datetime] = None
    expires_in: Union[timedelta, int, None] = None
    priority: Optional[str] = None
    collapse_key: Optional[str] = None
    store: Optional[str] = None
    read_once: Optional[bool] = None
    alert: Any = None

    def body(self) -> bytes:
        """The JSON of a request that sends it. Equal notifications have equal bytes, as an idempotency key requires."""
        if self.to is None:
            raise TypeError("to must not be None; without `to` the user of the token is the recipient")
        if self.send_at is not None:
            must_be(datetime, send_at=self.send_at)
            if self.send_at.utcoffset() is None:
                raise ValueError("send_at has no time zone")
        values = {_member(name): value for name, value in members_of(self).items() if value is not None and not isinstance(value, _Caller)}
        if isinstance(self.to, str):
            values["To"] = [self.to]
        return encoded(values)


def members_of(notification: Notification) -> Dict[str, Any]:
    """Its members. A member that a subclass has added, such as `Payload`, could replace another in the JSON."""
    must_be(Notification, notification=notification)
    return {field.name: getattr(notification, field.name) for field in dataclasses.fields(Notification)}


@dataclasses.dataclass(frozen=True)
class Sent:
    """An accepted notification.

    While the server still looks for devices, `more` is true, and `recipients` and `pushes` are None.
    """

    id: int
    created_at: datetime
    send_at: Optional[datetime]
    expires_at: datetime
    recipients: Optional[int]
    pushes: Optional[int]
    more: bool


@dataclasses.dataclass(frozen=True)
class Delivery:
    """One push to one device. `state` is queued, sending, accepted, fetched, read, expired, failed or cancelled."""

    device: Optional[str]
    user: Optional[str]
    app: str
    platform: str
    state: str
    attempts: int
    updated_at: Optional[datetime]
    reason: Optional[str]


@dataclasses.dataclass(frozen=True)
class Recipient:
    """A recipient of a notification. `user` is None if the user was deleted."""

    user: Optional[str]
    fetched_at: Optional[datetime]
    read_at: Optional[datetime]
    dismissed_at: Optional[datetime]


@dataclasses.dataclass(frozen=True)
class DeliveryCounts:
    """The number of a notification's pushes in each state.

    `send_at` is the time of sending, as long as the notification is scheduled.
    """

    send_at: Optional[datetime]
    counts: Dict[str, int]


@dataclasses.dataclass(frozen=True)
class Event:
    """An outcome: docs/operate/events.md has the kinds.

    `number` grows; a reader skips events whose numbers it has processed before.
    """

    number: int
    at: datetime
    kind: str
    notification: Optional[int]
    device: Optional[str]
    user: Optional[str]
    app: Optional[str]
    platform: Optional[str]
    reason: Optional[str]


@dataclasses.dataclass(frozen=True)
class EventPage:
    """A page of events. Store `cursor` together with the effects of the events, and pass it to the next call.

    `truncated`: events after the request's cursor have expired, so some may be missing.
    """

    events: List[Event]
    cursor: str
    more: bool
    truncated: bool


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a user. `state` is requested, registered or retired; `app`, `platform` and `tags` are None unless registered."""

    id: str
    state: str
    app: Optional[str]
    platform: Optional[str]
    tags: Optional[List[str]]
    registered_at: Optional[datetime]
    last_push: Optional[datetime]
    last_fetch: Optional[datetime]
    retired_at: Optional[datetime]
    reason: Optional[str]


@dataclasses.dataclass(frozen=True)
class Lane:
    """The queue of one sender. `pause_reason` is the provider's answer while the lane is paused, and otherwise None."""

    name: str
    pending: int
    overdue_seconds: int
    pause_reason: Optional[str]


@dataclasses.dataclass(frozen=True)
class Status:
    """The state of the server. `troubles` are the faults that keep it from storing or returning notifications."""

    version: str
    troubles: List[str]
    lanes: List[Lane]


@dataclasses.dataclass(frozen=True)
class UserKeys:
    """A user with the keys of the user's devices, as the server lists them.

    A key is None for a device without end-to-end encryption.
    """

    name: str
    account: str
    keys: List[Optional[str]]


_TYPES: Dict[str, type] = {"int": int, "str": str, "bool": bool}


def read(kind: Type[T], value: Any) -> T:
    """Makes a value from a JSON object.

    Ignores unknown members; raises `ValueError` or `TypeError` if a member is missing or of another type.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{kind.__name__} is not an object")
    members = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        name = _member(field.name)
        if name not in value:
            raise ValueError(f"{kind.__name__} lacks {name}")
        type_name = str(field.type).removeprefix("Optional[").removesuffix("]")
        member = value[name]
        if member is not None or not str(field.type).startswith("Optional["):
            if type_name == "datetime":
                member = _time(member)
            elif type_name in _TYPES:
                must_be(_TYPES[type_name], **{name: member})
        members[field.name] = member
    return kind(**members)


def read_all(kind: Type[T], values: Any) -> List[T]:
    """Makes a value from each object of a JSON array, as `read` does."""
    if not isinstance(values, list):
        raise ValueError(f"{kind.__name__}s are not an array")
    return [read(kind, value) for value in values]


def fits(value: Any, levels: int) -> bool:
    """Whether a value has at most so many levels of nesting."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return inner is None or (levels > 0 and all(fits(element, levels - 1) for element in inner))


def encoded(value: Any) -> bytes:
    """The JSON of a request's body. Raises `ValueError` for more levels of nesting than the server reads."""
    if not fits(value, MAXIMUM_BODY_LEVELS):
        raise ValueError(f"a value has more than {MAXIMUM_BODY_LEVELS} levels of nesting")
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()


def must_be(kind: type, **values: Any) -> None:
    """Raises `TypeError` with the name of the first value of another type."""
    for name, value in values.items():
        # A bool is also a number in Python, but never meant as one.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{name} must be of type {kind.__name__}, not {type(value).__name__}")


def text_list(name: str, value: Iterable[str]) -> List[str]:
    """The argument as a list. A single text is refused, since its characters are texts, too."""
    found = None if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else list(value)
    if found is None or not all(isinstance(text, str) for text in found):
        raise TypeError(f"{name} must be a list of str")
    return found


def visible(name: str, value: Any) -> str:
    """The argument, if a header field can contain it. The error does not print the argument, which may be a token."""
    if not isinstance(value, str) or not re.fullmatch("[!-~]+", value):
        raise ValueError(f"{name} must have visible ASCII characters without spaces, and at least one")
    return value


def idempotency_key(key: Optional[str]) -> str:
    """The key, or a new random key. The length leaves room for the number of a batch."""
    if key is not None and len(visible("key", key)) > 200:
        raise ValueError(f"key must have at most 200 characters, not {len(key)}")
    return str(uuid.uuid4()) if key is None else key


def finite(name: str, value: Any) -> Any:
    """The value of an option. Refuses NaN, which would switch a limit off."""
    must_be(numbers.Real, **{name: value})
    if not 0 <= value <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number from 0 up, not {value}")
    return value


def positive(name: str, value: Any) -> Any:
    """A time limit. Refuses 0, which a missing variable can become."""
    if finite(name, value) == 0:
        raise ValueError(f"{name} must be above 0")
    return value


def end_of(client: Any, deadline: Optional[float]) -> float:
    """The end of a call that begins now, as `time.monotonic` counts. Without a deadline of its own, the call has the client's."""
    return time.monotonic() + positive("deadline", client.deadline if deadline is None else deadline)


def _member(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    raise TypeError(f"{type(value).__name__} is not a value of JSON")


def _time(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("a time is not a text")
    # Before Python 3.11 `fromisoformat` does not accept a Z.
    return datetime.fromisoformat(value.replace("Z", "+00:00"))
