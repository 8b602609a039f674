"""A hostile user: its requests, their answers, and the record of a move."""

import collections
import dataclasses
import http.client
import json
import os
import secrets
import socket
import threading
import time
import traceback

from sealpost_e2e import api, crew

Answer = collections.namedtuple("Answer", "status code text fields")
SECONDS = 4


@dataclasses.dataclass
class Move:
    """One move: `run(insider)` makes it, and `expected` are its answers; those with a question mark are optional."""

    run: object
    title: str
    tried: str
    expected: list
    role: str
    name: str

    def misses(self, answers):
        """The mismatches of the answers; empty if all match."""
        must = {answer for answer in self.expected if not answer.endswith("?")}
        may = {answer.rstrip("?") for answer in self.expected}
        strange, missing = sorted(set(answers) - may), sorted(must - set(answers))
        return [f"answered {answer}" for answer in strange] + [f"never answered {answer}" for answer in missing]


MOVES = []


def move(title, tried, expected, role="device"):
    def add(function):
        answers = [answer.strip() for answer in expected.split(",") if answer.strip()]
        MOVES.append(Move(function, title, tried, answers, role, function.__name__.replace("_", "-")))
        return function
    return add


class Insider:
    """A user with its own account, session and address."""

    def __init__(self, site, name, authorization, number, role):
        self.site, self.name, self.authorization, self.role = site, name, authorization, role
        self.password = api.basic(name)
        self.source = f"127.1.{number // 250}.{number % 250 + 1}"
        self.answers, self.harms = collections.Counter(), []
        self.lock, self.own = threading.Lock(), threading.local()

    def ask(self, method, path, body=None, fields=None, authorization=None, source=None, counts=True):
        """Sends a request. A connection that ends without an answer has the status 0."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"Authorization": self.authorization if authorization is None else authorization} | (fields or {})
        if not headers["Authorization"]:
            del headers["Authorization"]
        connections = self.own.__dict__.setdefault("connections", {})
        source = source or self.source
        for is_last in (False, True):
            connection = connections.get(source) or http.client.HTTPConnection(
                "127.0.0.1", self.site.port, timeout=60, source_address=(source, 0)
            )
            connections[source] = connection
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return self.note(response.status, response.read(), response.headers, counts)
            except (OSError, http.client.HTTPException):
                connection.close()
                connections[source] = None
                if is_last:
                    return self.note(0, b"", {}, counts)

    def note(self, status, text, fields, counts=True):
        code = ""
        if status >= 400 and text.startswith(b"{"):
            code = json.loads(text).get("type", "").removeprefix("urn:sealpost:problem:")
        with self.lock:
            if counts:
                self.answers[f"{status} {code}".strip() if status else "closed"] += 1
        return Answer(status, code, text, fields)

    def harm(self, text):
        with self.lock:
            if text not in self.harms:
                self.harms.append(text)

    def register(self, lane, word="x", host="honest", tags=None, handle=None, id=None):
        """Registers a device. Returns its id, if it got one, and the answer."""
        if id is None:
            given = self.ask("POST", "/api/register", counts=False)
            if given.status != 200:
                return None, self.note(given.status, given.text, given.fields)
            id = json.loads(given.text)
        body = {"Platform": lane} | ({"Tags": tags} if tags else {})
        if handle or lane != "stream":
            body["Handle"] = handle or self.site.handle(lane, word, host)
        return id, self.ask("PUT", f"/api/register/{id}", body)

    def post(self, order=None, **more):
        """Sends a notification, to itself unless the order names recipients."""
        body = {"Payload": "from an insider", "ExpiresIn": 600} | (order or {})
        return self.ask("POST", "/api/notifications", body, **more)

    def open(self, text=b"", receive=None):
        """A connection on which the text was sent."""
        connection = socket.socket()
        if receive:  # With small segments, the daemon's buffer is small, too.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 88)
        connection.bind((self.source, 0))
        connection.settimeout(10)
        connection.connect(("127.0.0.1", self.site.port))
        connection.sendall(text)
        return connection

    def head(self, request, **fields):
        """The text of a request without a body, with the credentials."""
        lines = [f"{request} HTTP/1.1", "Host: sealpost.test", f"Authorization: {self.authorization}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def receive(self, connection):
        """Records the status of a connection's first answer."""
        try:
            text = connection.recv(65536)
        except OSError:
            text = b""
        body = text.partition(b"\r\n\r\n")[2]
        return self.note(int(text[9:12]) if text.startswith(b"HTTP/1.1 ") else 0, body, {})

    def repeat(self, function, threads=8, seconds=SECONDS):
        """Calls `function` with a new number by several threads for some seconds."""
        deadline, numbers = time.monotonic() + seconds, iter(range(1 << 40))

        def work():
            while time.monotonic() < deadline:
                with self.lock:
                    number = next(numbers)
                function(number)

        self.together([work] * threads)

    def each(self, function, values, threads=8):
        """Calls a function with each value by several threads. Returns the results in order."""
        return crew.together(function, values, threads)

    def together(self, functions):
        crew.together(lambda function: function(), functions)


def play(move, insider, pipe):
    """Makes a move in its own process, with a lower priority than the honest users."""
    os.nice(19)
    failure = ""
    try:
        move.run(insider)
    except Exception as error:
        traceback.print_exc()
        failure = f"the move failed: {type(error).__name__}: {error}"
    pipe.send((dict(insider.answers), insider.harms, failure))


def word():
    return secrets.token_hex(6)
