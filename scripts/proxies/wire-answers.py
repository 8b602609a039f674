#!/usr/bin/env python3
"""A proxy that changes the bytes of each answer as `HOW` says: `wire-answers.py <address> <address of the server>`.

`CHANGES` has the changes; a number is the status of a page of its own, without the server's fields. A change that
leaves a signed answer as it was would prove nothing: the proxy then answers nothing.
"""

import functools
import gzip
import itertools
import os
import random
import re
import socket
import struct
import sys
import threading
import time


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.version, self.status = "HTTP/1.1", int(first.split(" ")[1])
        self.fields = [tuple(line.split(": ", 1)) for line in lines]
        self.fields = [(name, value) for name, value in self.fields if name.lower() not in ("connection", "content-length")]
        # The fields that frame the body, the body's bytes, and the pause between its pieces.
        self.framing, self.pieces, self.pause = None, None, 0

    def edit(self, name, change):
        """Replaces the value of a field, if there is one, by one value or several."""
        fields = []
        for other, value in self.fields:
            new = change(value) if other.lower() == name.lower() else value
            fields += [(other, each) for each in (new if isinstance(new, list) else [new])]
        self.fields = fields

    def chunk(self, sizes, extension=""):
        body, self.framing, self.pieces = self.body, [("Transfer-Encoding", "chunked")], []
        while body:
            size = next(sizes)
            self.pieces.append(f"{len(body[:size]):x}{extension}\r\n".encode() + body[:size] + b"\r\n")
            body = body[size:]
        self.pieces.append(b"0\r\n\r\n")

    def all(self):
        framing = [("Content-Length", str(len(self.body)))] if self.framing is None else self.framing
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.fields + framing + [("Connection", "close")])
        return [f"{self.version} {self.status} X\r\n{lines}\r\n".encode("latin-1"), *(self.pieces or [self.body])]


def page(status):
    def change(answer):
        answer.status, answer.body = status, b"<html>Not here</html>"
        answer.fields = [("Content-Type", "text/html")]
    return change


def redirect(status):
    def change(answer):
        answer.status = status
        answer.fields.append(("Location", "/elsewhere"))
    return change


def kept(status):
    return lambda answer: setattr(answer, "status", status)


def field(name, change):
    return lambda answer: answer.edit(name, change)


def parameters(pattern, text):
    return field("Signature-Input", lambda value: re.sub(pattern, text, value, count=1))


def body(change):
    return lambda answer: setattr(answer, "body", change(answer.body))


def framed(change):
    def frame(answer):
        answer.framing = change(answer)
    return frame


def shuffle(answer):
    answer.fields = answer.fields[::-1]


def slow(answer):
    answer.pieces = [answer.body[start:start + 20] for start in range(0, len(answer.body), 20)]
    answer.pause = 0.002


def endless(pause, pieces):
    """Sends pieces with a pause in seconds after each, and never ends the connection."""
    def change(answer):
        answer.pause = pause
        return pieces(b"".join(answer.all()))
    return change


@functools.cache
def packed():
    """More than any client accepts, in 64 KiB."""
    return gzip.compress(bytes(66 << 20))


def bomb(answer):
    answer.body = packed()
    answer.fields.append(("Content-Encoding", "gzip"))


def foreign(answer):
    answer.edit("Signature-Input", lambda value: value + ', proxy=("@status");created=1;keyid="proxy"')
    answer.edit("Signature", lambda value: value + ", proxy=:AAAA:")


CHANGES = {
    # Harmless ones.
    "1.0": lambda answer: setattr(answer, "version", "HTTP/1.0"),
    "unframed": framed(lambda answer: []),
    "chunks": lambda answer: answer.chunk(iter(lambda: 7, None)),
    "bytes": lambda answer: answer.chunk(iter(lambda: 1, None)),
    "length-twice": framed(lambda answer: [("Content-Length", str(len(answer.body)))] * 2),
    "extensions": lambda answer: answer.chunk(iter(lambda: 9, None), ';a=b;c="d"'),
    "shuffled": shuffle,
    "blanks": lambda answer: setattr(answer, "fields", [(name, f"  {value}\t ") for name, value in answer.fields]),
    "fields": lambda answer: answer.fields.extend((f"X-Proxy-{number}", "x" * 50) for number in range(60)),
    "pieces": slow,
    "foreign": foreign,
    # The signature.
    "digest-twice": field("Content-Digest", lambda value: [value, value]),
    "signature-twice": field("Signature", lambda value: [value, value]),
    "input-twice": field("Signature-Input", lambda value: [value, value]),
    "zeros": field("Signature", lambda value: f"sig=:{'A' * 86}==:"),
    "key": parameters(r'keyid="[^"]+"', f'keyid="{"A" * 43}"'),
    "components": parameters(r"\(", '("date" '),
    "label": parameters("^[^=]+", "other"),
    "created": parameters(r"created=\d+", "created=4000000000"),
    "nonce": parameters(r'nonce="[^"]+"', f'nonce="{"A" * 22}"'),
    "no-nonce": parameters(r';nonce="[^"]+"', ""),
    "algorithm": parameters(r'alg="[^"]+"', 'alg="hmac-sha256"'),
    "account": field("Sealpost-Account", lambda value: []),
    "fewer": parameters(r' "@query";req', ""),
    "206": kept(206),
    "299": kept(299),
    # The status and the body.
    "404": kept(404),
    "script": body(lambda body: body + b"<script></script>"),
    "longer": framed(lambda answer: [("Content-Length", str(len(answer.body) + 1))]),
    "lengths-longer": framed(lambda answer: [("Content-Length", str(len(answer.body) + more)) for more in (0, 1)]),
    "lengths-shorter": framed(lambda answer: [("Content-Length", str(len(answer.body) - more)) for more in (0, 1)]),
    "gzip-label": lambda answer: answer.fields.append(("Content-Encoding", "gzip")),
    # The echo of MyToken.
    "echo-twice": field("MyToken", lambda value: [value, value]),
    "echo-zero": field("MyToken", lambda value: "0" + value),
    "echo-number": field("MyToken", lambda value: str((int(value) - 3) // 17)),
    "echo-other": field("MyToken", lambda value: str(int(value) + 17)),
    # No answer.
    "hang-up": lambda answer: [],
    "reset": lambda answer: None,
    # The end comes inside the head.
    "head": lambda answer: [answer.all()[0].partition(b"\r\nX-Request-Id")[0]] if answer.body else [],
    "garbage": lambda answer: [random.Random(1).randbytes(500)],
    "switch": lambda answer: setattr(answer, "status", 101),
    # No end: only a client's deadline or limit ends the call.
    "silence": endless(3600, lambda whole: [b""]),
    "stall": endless(3600, lambda whole: [whole[:-1]]),
    "drip": endless(1, lambda whole: [bytes([byte]) for byte in whole]),
    "interim": endless(0.01, lambda whole: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
    "flood": endless(0.001, lambda whole: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"X-Flood: 0123456789\r\n" * 50))),
    "bomb": bomb,
}
CHANGES |= {f"page-{status}": page(status) for status in (403, 404, 410, 421, 429, 502, 503, 504, 511)}
CHANGES |= {f"redirect-{status}": redirect(status) for status in (300, 301, 303, 307, 308)}


def read_request(client):
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := client.recv(65_536)):
            return None
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    while length and len(rest) < int(length[1]):
        rest += client.recv(65_536)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close", b"", rest])


def serve(client, server, change):
    with client:
        client.settimeout(60)
        if (request := read_request(client)) is None:
            return
        with socket.create_connection(server, timeout=60) as upstream:
            upstream.sendall(request)
            data = b"".join(iter(lambda: upstream.recv(65_536), b""))
        own, answer = Answer(data).all(), Answer(data)
        given = change(answer)
        pieces = answer.all() if given is None else given
        if change is CHANGES["reset"]:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if pieces == own and not answer.pause and b"\r\nSignature:" in own[0]:
            print(f"{os.environ['HOW']} changes nothing in {own[0]}", file=sys.stderr)
            return
        for piece in pieces:
            client.sendall(piece)
            time.sleep(answer.pause)


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    listener = socket.create_server(address(sys.argv[1]))
    print("Listening", file=sys.stderr, flush=True)
    while True:
        threading.Thread(
            target=serve, args=(listener.accept()[0], address(sys.argv[2]), CHANGES[os.environ["HOW"]]), daemon=True,
        ).start()
