"""The words that `canaries` hides in what it sends, who sends it, and how tokens are found."""

import base64
import collections
import http.client
import json
import re
import secrets
import socket
import threading

from sealpost_e2e import api, searching

LETTERS = "".join(secrets.choice("bcdfghjkmnpqrstvwxz") for _ in range(24))
SECRET, HANDLE, NAME = (LETTERS[start : start + 8] for start in (0, 8, 16))
# Each costs the server tens of milliseconds of a core.
WRONG_PASSWORDS = 100


class Caller:
    """A user with a connection, and what it has so far."""

    def __init__(self, number, role):
        self.number, self.role = number, role
        self.name, self.password = f"{NAME}-{number}", f"{SECRET} password {number}"
        self.authorization = api.basic(self.name, self.password)
        self.ids, self.devices, self.sessions, self.tokens = [], [], [], []


class Client:
    """Sends requests and keeps what came of them. A connection of its own; one thread."""

    def __init__(self, site, results):
        self.site, self.results = site, results
        self.connection = None

    def send(self, caller, route, path=None, body=None, fields=(), authorization=None):
        """A request by a caller, on a route. The answer's status and body."""
        method, pattern = route.split(" ")
        headers = {"User-Agent": f"agent/{SECRET}", "Cookie": f"session={SECRET}", "Referer": f"https://x/{SECRET}"}
        headers["Authorization"] = authorization or (caller.authorization if caller else f"Bearer {SECRET}")
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        for _ in range(3):
            try:
                if self.connection is None:
                    self.connection = self.site.connect()
                self.connection.request(method, path or pattern, body, headers | dict(fields))
                response = self.connection.getresponse()
                text = b"" if "stream" in pattern and response.status == 200 else response.read()
                break
            except (http.client.HTTPException, OSError):
                # What is refused early may be answered with the end of the connection.
                self.close()
        else:
            return None, b""
        self.results.note(route, response.status, str(response.headers).encode() + text)
        if response.will_close or "stream" in pattern:
            self.close()
        return response.status, text

    def raw(self, bytes):
        """Bytes that are hardly a request."""
        with socket.create_connection(("127.0.0.1", self.site.port), timeout=60) as connection:
            connection.sendall(bytes)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while more := connection.recv(65536):
                answer += more
        self.results.note("raw", int(answer[9:12] or 0), answer)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Results:
    def __init__(self):
        self.lock = threading.Lock()
        self.statuses = collections.defaultdict(collections.Counter)
        self.failures, self.tokens = set(), set()
        self.wrong = 0

    def note(self, route, status, answer):
        with self.lock:
            self.statuses[route][status] += 1
        if status >= 400:
            for word in (SECRET, HANDLE):
                if hits := searching.find(answer, word):
                    self.fail(f"{route} answers {status} with a secret: {hits[0][:300]}")

    def fail(self, text):
        with self.lock:
            self.failures.add(text)

    def may_be_wrong(self):
        with self.lock:
            self.wrong += 1
            return self.wrong <= WRONG_PASSWORDS

    @property
    def count(self):
        return sum(sum(counts.values()) for counts in list(self.statuses.values()))


# More of a token than its prefix, which may be shown; in base64 and hexadecimal nothing of it is expected.
TOKENS = [re.compile(rb"spt_[0-9A-Za-z]{13,}"), re.compile(rb"7370745f[0-9a-f]{30,}", re.I)]
TOKENS += [re.compile(re.escape(core) + rb"[0-9A-Za-z+/_-]{30,}") for core in searching.encodings(b"spt_")]


def check_search():
    """A search that finds nothing must be one that can find."""
    token = b"spt_" + b"0aZ" * 14
    for text in (token, token.hex().encode(), *(base64.b64encode(b"x" * length + token) for length in range(3))):
        if not any(form.search(text) for form in TOKENS) or any(form.search(token[:12]) for form in TOKENS):
            raise SystemExit(f"the search does not know a token in {text}")
    searching.check(SECRET, HANDLE)
