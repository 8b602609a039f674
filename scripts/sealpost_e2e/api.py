"""Requests to the daemon: credentials, JSON requests, and the calls that most programs make."""

import base64
import contextlib
import http.client
import importlib
import json
import pathlib
import select
import sys
import time

PASSWORD = "correct horse battery"


class UnexpectedAnswer(http.client.HTTPException):
    """The daemon has answered with an unexpected status."""


def device_key(account):
    """The text of a new device key of an account. It needs the package `cryptography`."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Clients/python"))
    end_to_end = importlib.import_module("sealpost.end_to_end")
    keys = (end_to_end.SenderKey.generate()._private for _ in range(2))
    return end_to_end.device_key(account, *keys, int(time.time()))


def basic(name, password=PASSWORD):
    """A user's `Authorization` field."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def base64url(bytes):
    return base64.urlsafe_b64encode(bytes).decode().rstrip("=")


CREDENTIALS = basic("alice")


def connect(port, timeout=60, context=None):
    """A connection to a port of this machine, with TLS if there is a context."""
    if context:
        return http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context)
    return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)


def exchange(connection, method, path, body=None, fields={}):
    """Sends a request. Returns the status, the fields and the body of the answer."""
    # The server closes an idle connection after a while; the request then opens another one.
    if connection.sock and select.select([connection.sock], [], [], 0)[0]:
        connection.close()
    connection.request(method, path, body, fields)
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def ask(connection, method, path, body=None, credentials=CREDENTIALS, expected=(200, 201, 204)):
    """Sends a request. Returns the answer's JSON or text. Raises `UnexpectedAnswer` if its status is not `expected`."""
    status, _, answer = exchange(connection, method, path, None if body is None else json.dumps(body), {"Authorization": credentials})
    if status not in expected:
        raise UnexpectedAnswer(f"{method} {path}: {status} {answer[:300]}")
    return json.loads(answer) if answer.startswith((b"{", b"[", b'"')) else answer.decode()


def status(connection, path, credentials=CREDENTIALS, **fields):
    """The status of a GET with these fields and the credentials."""
    return exchange(connection, "GET", path, fields={"Authorization": credentials} | fields)[0]


def is_ready(port):
    """Whether a server answers that a proxy may send it requests."""
    with contextlib.suppress(OSError):
        return status(connect(port, timeout=5), "/readyz") == 200


def post(connection, order, **rest):
    """Posts a payload, or a whole order. Returns its id."""
    return ask(connection, "POST", "/api/notifications", order, **rest)["Id"]


def fetch(connection, id, **rest):
    return ask(connection, "GET", f"/api/notifications/{id}", **rest)["Payload"]


def register(connection, credentials=CREDENTIALS, **device):
    """Registers a device. Returns the registration's id."""
    id = ask(connection, "POST", "/api/register", credentials=credentials)
    ask(connection, "PUT", f"/api/register/{id}", device, credentials)
    return id


def sign_in(connection, name, *scopes):
    """The `Authorization` field of a new session; without `scopes`, it has those of a device."""
    order = {"Scopes": scopes} if scopes else None
    return f"Bearer {ask(connection, 'POST', '/api/sessions', order, basic(name))['Token']}"
