"""An HTTPS server that replaces a provider or a receiver of webhooks."""

import base64
import contextlib
import json
import re
import threading

from sealpost_e2e import listening, processes, tls


class Receiver(listening.Listener):
    """An HTTPS server that keeps all requests. `answer(request, number)` makes each answer's bytes, from number 1."""

    def __init__(self, certificate, key, answer):
        self.context = tls.serving(certificate, key)
        self.answer = answer
        self.requests, self.lock = [], threading.Lock()
        super().__init__()

    def serve(self, connection):
        with contextlib.suppress(OSError):  # The daemon went.
            with self.context.wrap_socket(connection, server_side=True) as stream:
                bytes = b""
                while True:
                    while (request := split(bytes)) is None:
                        if not (more := stream.recv(65536)):
                            return
                        bytes += more
                    bytes = bytes[len(request):]
                    with self.lock:
                        self.requests.append(request)
                        number = len(self.requests)
                    stream.sendall(self.answer(request, number))

    def codes(self):
        """The codes that confirm handles, in order of arrival, each with its handle."""
        with self.lock:
            requests = list(self.requests)
        bodies = [json.loads(request.partition(b"\r\n\r\n")[2] or b"{}") for request in requests if b'"confirmation":' in request]
        return [(body["handle"], body["confirmation"]) for body in bodies]

    def code(self, handle):
        """The last code for a handle; waits for the first."""
        found = lambda: [code for own, code in self.codes() if own == handle]
        processes.wait_until(found, 60, f"the code of {handle}")
        return found()[-1]


def accept(request, number):
    """The answer of a receiver that accepts everything."""
    return b"HTTP/1.1 204 No Content\r\n\r\n"


def write_secret(file, secret=bytes(32)):
    """Writes the signing secret of webhooks as the configuration has it. Returns the file."""
    file.write_text("whsec_" + base64.b64encode(secret).decode())
    file.chmod(0o600)
    return file


def split(bytes):
    """The first complete request, or `None`."""
    head, end, rest = bytes.partition(b"\r\n\r\n")
    if not end:
        return None
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    length = int(length[1]) if length else 0
    return bytes[: len(head) + 4 + length] if len(rest) >= length else None
