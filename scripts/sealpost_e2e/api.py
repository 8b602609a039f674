"""Requests to the daemon: credentials, one request with JSON, and the few that most programs make."""

import base64
import http.client
import json

PASSWORD = "correct horse battery"


class UnexpectedAnswer(http.client.HTTPException):
    """The daemon has answered with a status that the program did not expect."""


def basic(name, password=PASSWORD):
    """The field of `Authorization` of a user."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


CREDENTIALS = basic("alice")


def connect(port, timeout=60, context=None):
    """A connection to a port of this machine, over TLS if there is a context for that."""
    if context:
        return http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context)
    return http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)


def ask(connection, method, path, body=None, credentials=CREDENTIALS, expected=(200, 201, 204)):
    """A request, whose body is sent as JSON. What the answer's JSON holds, or its text if it has none.

    Raises `UnexpectedAnswer` if its status is none of `expected`.
    """
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Authorization": credentials})
    response = connection.getresponse()
    answer = response.read()
    if response.status not in expected:
        raise UnexpectedAnswer(f"{method} {path}: {response.status} {answer[:300]}")
    return json.loads(answer) if answer.startswith((b"{", b"[", b'"')) else answer.decode()


def status(connection, path, credentials=CREDENTIALS, **fields):
    """The status of the answer to a GET, with these fields beside the credentials."""
    connection.request("GET", path, headers={"Authorization": credentials} | fields)
    response = connection.getresponse()
    response.read()
    return response.status


def post(connection, order, **rest):
    """Posts a payload, or a whole order. Its id."""
    return ask(connection, "POST", "/api/notifications", order, **rest)["Id"]


def fetch(connection, id, **rest):
    """Fetches a payload."""
    return ask(connection, "GET", f"/api/notifications/{id}", **rest)["Payload"]


def sign_in(connection, name):
    """The field of `Authorization` of a new session of a user."""
    return f"Bearer {ask(connection, 'POST', '/api/sessions', credentials=basic(name))['Token']}"
