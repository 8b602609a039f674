"""Verifies the signed messages that Sealpost posts: pushes of a sender `webhook`, and events (Standard Webhooks)."""

from __future__ import annotations

import base64
import dataclasses
import hmac
import re
import time
from typing import Any, Dict, List, Mapping, Optional, Union

from .errors import decoded
from .values import Event, finite, must_be, read_all


class InvalidMessage(Exception):
    """Raised if a message is unsigned, changed, too old or malformed: answer 401 and do nothing."""


@dataclasses.dataclass(frozen=True)
class Push:
    """A push: wake the device of `handle`, which then fetches the notification `secure_id`."""

    id: str
    secure_id: str
    handle: str
    alert: Optional[Dict[str, Any]]
    account_hint: Optional[str]


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """A code that confirms a handle: pass the code to the device of `handle`.

    The device sends the code to the server to prove that the handle is its own.
    """

    id: str
    code: str
    handle: str


@dataclasses.dataclass(frozen=True)
class Events:
    """Up to 500 events, in the order of their numbers. Answer 2xx after you have stored the events."""

    id: str
    events: List[Event]


@dataclasses.dataclass(frozen=True)
class Other:
    """A message of a kind that only later servers send. `json` is its content. Answer 2xx."""

    id: str
    json: Any


Message = Union[Push, Confirmation, Events, Other]


class Webhook:
    """Verifies messages with the secrets of a `secretFile`.

    Each line of the file has one secret; there are two while one secret replaces another.
    `tolerance` is the largest accepted age of a message in seconds. Within this time an attacker can
    replay a message: recognize repeated messages by their `id`, and events by their `number`.
    """

    # The maximum number of bytes of a message. A longer body does not come from Sealpost: do not
    # read it.
    maximum_body = 1 << 20

    def __init__(self, secrets: str, tolerance: int = 300):
        must_be(str, secrets=secrets)
        lines = [line.strip(" \t") for line in re.split("[\r\n]", secrets.removeprefix("\ufeff"))]
        self._keys = [_key(line) for line in lines if line]
        if not self._keys:
            raise ValueError("secrets: there is no secret")
        self._tolerance = finite("tolerance", tolerance)

    def verify(self, headers: Mapping[str, str], body: bytes, now: Optional[float] = None) -> Message:
        """Returns the message in a request's fields and body, as received.

        Raises `InvalidMessage` if it is not from Sealpost.
        """
        fields = {name.lower(): value for name, value in headers.items()}
        id, timestamp, signature = (fields.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        try:
            head, given = f"{id}.{timestamp}.".encode(), signature.encode().split(b" ")
        except (AttributeError, UnicodeEncodeError) as error:
            # Frameworks pass bytes other than UTF-8 as half a character, or no field as None.
            raise InvalidMessage("a field of the signature is not a text") from error
        content = head + body
        expected = [b"v1," + base64.b64encode(hmac.digest(key, content, "sha256")) for key in self._keys]
        # `any` gets a list, not a generator, so that the time does not reveal which secret has
        # signed.
        if not any([hmac.compare_digest(one, other) for one in expected for other in given]):
            raise InvalidMessage("no signature is by a known secret")
        is_time = re.fullmatch("[0-9]{1,12}", timestamp)
        if not is_time or not abs((time.time() if now is None else now) - int(timestamp)) <= self._tolerance:
            raise InvalidMessage("the message is too old, or the clocks differ")
        try:
            return _message(id, decoded(body))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidMessage(f"the message is malformed: {error}") from error


def _key(secret: str) -> bytes:
    if not re.fullmatch("[ -~]+", secret):
        raise ValueError("secrets: a line may only have ASCII characters and blanks")
    key = secret.encode()
    if secret.startswith("whsec_"):
        # Accepts both alphabets of base64, with or without padding, as the server does.
        text = secret[6:].rstrip("=").replace("-", "+").replace("_", "/")
        if not re.fullmatch("[A-Za-z0-9+/]*", text) or len(text) % 4 == 1:
            raise ValueError("secrets: the text after whsec_ is not base64")
        key = base64.b64decode(text + "==")
    if len(key) < 24:
        raise ValueError("secrets: each line is whsec_ and base64, or a text, of at least 24 bytes")
    return key


def _message(id: str, json: Any) -> Message:
    value = json if isinstance(json, dict) else {}
    data = value.get("data")
    if value.get("type") == "sealpost.events" and isinstance(data, dict) and isinstance(data.get("Events"), list):
        return Events(id, read_all(Event, data["Events"]))
    if isinstance(value.get("confirmation"), str):
        return Confirmation(id, value["confirmation"], value["handle"])
    if isinstance(value.get("secureId"), str) and re.fullmatch("[0-9]{1,16}", value["secureId"]):
        return Push(id, value["secureId"], value["handle"], value.get("alert"), value.get("accountHint"))
    return Other(id, json)
