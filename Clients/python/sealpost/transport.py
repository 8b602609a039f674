"""HTTP/1.1 over connections that are reused, with a deadline for each exchange."""

from __future__ import annotations

import collections
import dataclasses
import functools
import http.client
import io
import os
import re
import ssl
import time
from typing import Any, Deque, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

from .errors import Interference, Unreachable, seconds

# The maximum number of bytes of an answer. A list of 500 entries has far fewer.
MAXIMUM_BODY = 16 << 20
# The server closes idle connections after 75 s, proxies often after 60 s.
IDLE_SECONDS = 30
MAXIMUM_IDLE = 8
# The maximum number of informational answers before an answer.
MAXIMUM_INFORMATIONAL = 16
# The maximum time limit of a socket, in seconds. The systems count milliseconds in 32 bits.
LONGEST_TIMEOUT = 2_000_000.0


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response as received, not yet checked. `is_complete`: the body is as long as `Content-Length` says."""

    status: int
    fields: List[Tuple[str, str]]
    body: bytes
    is_complete: bool = True

    def field(self, name: str) -> str:
        """The value of a field: its lines joined by commas; empty if the field is missing."""
        return ", ".join(value.strip() for other, value in self.fields if other.lower() == name)

    @property
    def retry_after(self) -> Optional[int]:
        return seconds(self.field("retry-after"))


class Transport:
    """Connections to one server. Several threads may use it; a forked process opens its own connections."""

    def __init__(self, server: str, context: Optional[ssl.SSLContext], is_insecure_allowed: bool = False):
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{server!r} is not the address of a server, such as https://push.example.com")
        is_local = re.fullmatch(r"localhost|::1|127(\.[0-9]{1,3}){3}", parts.hostname)
        if parts.scheme == "http" and not is_local and not is_insecure_allowed:
            raise ValueError("server: http sends the token in clear; use https, or set is_insecure_allowed in a network of your own")
        self.server = server
        self._prefix = parts.path.rstrip("/")
        self._host, self._port = parts.hostname, parts.port
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._idle: Deque[Tuple[http.client.HTTPConnection, float]] = collections.deque()
        self._process = os.getpid()

    def exchange(self, method: str, target: str, fields: Dict[str, str], body: Optional[bytes], end: float) -> Answer:
        """Sends a request and returns its answer, before the time `end` of the monotonic clock.

        Raises `Unreachable`, or `Interference` if the body is too long.
        """
        connection = self._connection()
        try:
            _set_timeout(connection, end)
            connection.response_class = functools.partial(_Response, end)  # type: ignore[assignment]
            connection.request(method, self._prefix + target, body, fields)
            response = connection.getresponse()
            content = bytearray()
            while piece := response.read(65_536):
                content += piece
                if len(content) > MAXIMUM_BODY:
                    raise Interference("oversized", response.status)
            # http.client does not report a short body that is read in pieces.
            answer = Answer(response.status, response.getheaders(), bytes(content), not response.length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            is_transient = not isinstance(error, ssl.SSLCertVerificationError)
            raise Unreachable(f"{self.server} has not answered: {error or type(error).__name__}", is_transient) from error
        except BaseException:
            connection.close()
            raise
        self._keep(connection, answer)
        return answer

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop()[0].close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._process != os.getpid():
            # After a fork the parent process uses the connections, so this process needs its own.
            self._idle, self._process = collections.deque(), os.getpid()
        while True:
            try:
                connection, since = self._idle.pop()
            except IndexError:
                if self._context:
                    return http.client.HTTPSConnection(self._host, self._port, context=self._context)
                return http.client.HTTPConnection(self._host, self._port)
            if time.monotonic() - since < IDLE_SECONDS:
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPConnection, answer: Answer) -> None:
        if answer.is_complete and len(self._idle) < MAXIMUM_IDLE:
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()


def _set_timeout(connection: http.client.HTTPConnection, end: float) -> None:
    connection.timeout = _remaining(end)
    if connection.sock:
        connection.sock.settimeout(connection.timeout)


def _remaining(end: float) -> float:
    remaining = end - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("timed out")
    return min(remaining, LONGEST_TIMEOUT)


class _Response(http.client.HTTPResponse):
    """A response with one deadline for all its reads, so that a peer that sends a byte now and then cannot delay it."""

    def __init__(self, end: float, sock: Any, *arguments: Any, **named: Any):
        super().__init__(sock, *arguments, **named)
        self._reader = _TimedReader(self.fp.detach(), sock, end)
        self.fp = io.BufferedReader(self._reader)

    def _read_status(self) -> Tuple[str, int, str]:
        # RFC 9110 section 15.2: a client skips all informational answers; http.client skips only
        # 100. The client never asks for another protocol, so its checks refuse a 101.
        for _ in range(MAXIMUM_INFORMATIONAL):
            found = super()._read_status()  # type: ignore[misc]
            if not 100 <= found[1] < 200 or found[1] == 101:
                return found
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("the answer has too many informational answers before it")

    def begin(self) -> None:
        super().begin()
        # http.client accepts a head that was cut as complete, without its last fields.
        if self._reader.is_ended:
            raise http.client.RemoteDisconnected("the connection was closed within the head")


class _TimedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: Any, end: float):
        self._raw, self._sock, self._end = raw, sock, end
        self.is_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._sock.settimeout(_remaining(self._end))
        length = self._raw.readinto(buffer)
        self.is_ended = not length
        return length

    def close(self) -> None:
        self._raw.close()
        super().close()
