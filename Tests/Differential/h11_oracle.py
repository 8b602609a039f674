"""Tells what h11, as a server, makes of streams of requests.

    h11_oracle.py STREAMS VERDICTS

STREAMS holds one stream after the other, each with its length before it; VERDICTS gets, for each of them, how it ended,
why, the number of complete requests, and each request in one canonical form. All numbers are 32 bits, big-endian, and
all texts have their length before them. Differences in spelling that mean nothing are settled here:

- A target in absolute-form is given as an authority and a target in origin-form (RFC 9112 section 3.2.2).
- h11 gives the transfer coding in lower case.
"""

import re
import struct
import sys

import h11

ABSOLUTE_FORM = re.compile(rb"https?://([^/?]*)(.*)", re.IGNORECASE | re.DOTALL)
# No answer but a refusal of the request, so that nothing is upgraded and no tunnel opened.
ANSWER = h11.Response(status_code=400, headers=[(b"Content-Length", b"0")])


def canonical(request, body):
    """Method, authority, target and version, then the fields in their order, then the body."""
    headers = request.headers.raw_items()
    authority = next((value for name, value in headers if name.lower() == b"host"), b"")
    target = request.target
    absolute = ABSOLUTE_FORM.fullmatch(target)
    if absolute:
        authority, target = absolute.groups()
        target = target if target.startswith(b"/") else b"/" + target
    version = b"1.0" if request.http_version == b"1.0" else b"1.1"
    lines = [b" ".join([request.method, authority, target, version])]
    lines += [name + b":" + value for name, value in headers]
    return b"\n".join(lines) + b"\n\n" + bytes(body)


def verdict(stream):
    """How the stream ended, why, and the complete requests."""
    requests = []
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(stream)
    request, body = None, bytearray()
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            part = "head" if request is None else "body"
            return "refused", f"{part}: {error}", requests
        if isinstance(event, h11.Request):
            request, body = event, bytearray()
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            requests.append(canonical(request, body))
            request = None
            connection.send(ANSWER)
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE:
                return "closed", "", requests
            connection.start_next_cycle()
        else:
            return "waiting", "", requests


def packed(text):
    return struct.pack(">I", len(text)) + text


def main(streams, verdicts):
    with open(streams, "rb") as source, open(verdicts, "wb") as output:
        while length := source.read(4):
            ending, reason, requests = verdict(source.read(*struct.unpack(">I", length)))
            output.write(packed(ending.encode()) + packed(reason.encode("latin-1", "replace")))
            output.write(struct.pack(">I", len(requests)) + b"".join(map(packed, requests)))


if __name__ == "__main__":
    main(*sys.argv[1:])
