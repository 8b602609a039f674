"""The errors of a call. The class of a problem says who must act. Its code says what happened: docs/errors.md."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from typing import Optional

# The statuses after which a repetition of the request may succeed.
TRANSIENT = {408, 429, 500, 502, 503, 504, 507}
PREFIX = "urn:sealpost:problem:"


class SealpostError(Exception):
    """Raised by a call that the server has not confirmed as successful.

    `is_transient`: a later repetition may succeed. `retry_after`: how long the server asks to wait, in
    seconds. `idempotency_key`: the key of a failed post. A repetition with this key, within 24 hours,
    sends nothing twice.
    """

    is_transient = False
    retry_after: Optional[int] = None
    idempotency_key: Optional[str] = None


class Unreachable(SealpostError):
    """No complete answer has arrived in time. The request may have taken effect."""

    def __init__(self, message: str, is_transient: bool = True):
        super().__init__(message)
        self.is_transient = is_transient


class Interference(SealpostError):
    """An answer that is not the server's own answer to this request, but comes for example from a proxy or a cache.

    `kind` says how it differs, such as `missingEcho`; docs/evidence/vectors/README.md lists the kinds.
    """

    def __init__(self, kind: str, status: int, retry_after: Optional[int] = None):
        super().__init__(f"the answer with status {status} is not the server's own: {kind}")
        self.kind, self.status, self.retry_after = kind, status, retry_after
        self.is_transient = status in TRANSIENT


class Problem(SealpostError):
    """A refusal of the server. `code` is stable and listed in docs/errors.md; `detail` is for people."""

    def __init__(self, status: int, code: str, title: str = "", detail: Optional[str] = None,
                 instance: Optional[str] = None, retry_after: Optional[int] = None):
        super().__init__(f"{status} {PREFIX}{code}: {detail or title}" + (f" (request {instance})" if instance else ""))
        self.status, self.code, self.title, self.detail = status, code, title, detail
        self.instance, self.retry_after = instance, retry_after
        self.is_transient = status in TRANSIENT or code == "idempotency-key-in-use"


class Refused(Problem):
    """The developer must act: the server will refuse the same request again."""


class Denied(Problem):
    """The user or an administrator must act: credentials, roles, scopes."""


class StateChanged(Problem):
    """The server's state differs from the caller's assumption, for example 404 or 409."""


class Overloaded(Problem):
    """A limit is reached, or the server is full. The call has retried until its deadline."""


class ServerFault(Problem):
    """The operator must act: 421 or 500."""


_CLASSES = {
    Denied: {401, 403}, StateChanged: {404, 409, 410, 412}, Overloaded: {408, 429, 503, 507}, ServerFault: {421, 500},
}


def problem(value: object, status: int, retry_after: Optional[int] = None) -> Problem:
    """Reads the error from a problem's JSON.

    Raises `ValueError` if the JSON is not a problem of Sealpost with that status.
    """
    if not isinstance(value, dict) or value.get("status") != status or not str(value.get("type")).startswith(PREFIX):
        raise ValueError("not a problem of Sealpost")
    texts = {name: value[name] for name in ("title", "detail", "instance") if isinstance(value.get(name), str)}
    kind = next((kind for kind, statuses in _CLASSES.items() if status in statuses), Refused)
    return kind(status, value["type"][len(PREFIX):], retry_after=retry_after, **texts)


def seconds(text: str) -> Optional[int]:
    """The seconds to wait of a `Retry-After`: one to nine digits, or the time until a date. None for other texts."""
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    if not text.endswith(" GMT"):
        return None
    try:
        left = math.ceil(email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (IndexError, OverflowError, TypeError, ValueError):
        return None
    return left if left > 0 else None


def decoded(content: bytes) -> object:
    """The JSON of a body. Raises `ValueError` also for JSON that is nested too deeply."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
