"""What stands at the addresses of `network`: a push service and a receiver of webhooks, and hosts that do harm.

`sealpost simulate` has no Web Push and no webhooks, so these are of our own. A line of the file `arrivals` tells when a push
came to the honest ones: seconds since 1970, platform, and the path at the push service, or the notification's id and the handle;
or the code that confirms a handle, which only who has the receiver can read.
"""

import asyncio
import itertools
import json
import re
import socket
import ssl
import time

from sealpost_e2e.insiders import network

LONG = 3600


def serve(certificate, key, arrivals, ready):
    """Serves until the process is killed."""
    asyncio.run(Receivers(certificate, key, arrivals).serve(ready))


class Receivers:
    def __init__(self, certificate, key, arrivals):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.arrivals = open(arrivals, "a", buffering=1)
        self.talk = itertools.cycle(range(4))

    async def serve(self, ready):
        servers = []
        for name, address in network.ADDRESSES.items():
            handler = getattr(self, name, None)
            context = None if name in ("silent", "resets") else self.context
            servers.append(await asyncio.start_server(
                handler or self.answering(ANSWERS[name]), address, 443, ssl=context, backlog=512
            ))
        ready.set()
        await asyncio.gather(*(server.serve_forever() for server in servers))

    async def honest(self, reader, writer):
        await self.each_request(reader, writer, self.judge)

    async def hangs(self, reader, writer):
        """Reads the request, and never answers."""
        await asyncio.sleep(LONG)

    async def silent(self, reader, writer):
        """Accepts the connection, and says nothing."""
        await asyncio.sleep(LONG)

    async def resets(self, reader, writer):
        linger = b"\1\0\0\0\0\0\0\0"
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def endless(self, reader, writer):
        """Begins an answer that has no end, a byte at a time."""
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 100000000\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.2)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def talks(self, reader, writer):
        """Says more in the header than anybody reads, each time in another way; the last has no end."""
        description = b"X-WNS-Error-Description: "
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 400 x\r\n")
            match next(self.talk):
                case 0: writer.write(description + b"a" * 30_000 + b"\r\nContent-Length: 0\r\n\r\n")
                case 1: writer.write(description + b"a" * 15_000 + b"\r\nContent-Length: 0\r\n\r\n")
                case 2: writer.write((description + b"a b://\r\n") * 20_000 + b"Content-Length: 0\r\n\r\n")
                case _:
                    while True:
                        writer.write(description + b"a" * 1000 + b"\r\n")
                        await writer.drain()
                        await asyncio.sleep(0.01)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        writer.close()

    def answering(self, answer):
        async def handle(reader, writer):
            await self.each_request(reader, writer, lambda path, body: answer)
        return handle

    async def each_request(self, reader, writer, judge):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                status, more, *text = judge(head.split(b" ", 2)[1].decode(), body)
                text = "".join(text)
                writer.write(f"HTTP/1.1 {status} x\r\n{more}Content-Length: {len(text)}\r\n\r\n{text}".encode())
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()

    def judge(self, path, body):
        """A push service by the path, a webhook by the handle; the answer says what is in it."""
        if path == "/hook":
            message = json.loads(body)
            if code := message.get("confirmation"):
                self.arrivals.write(f"{time.time():.6f} confirmation {code} {message['handle']}\n")
                return 204, ""
            platform, key, subject = "webhook", f"{message['secureId']} {message['handle']}", message["handle"]
        else:
            platform, key, subject = "webpush", path, path
        for word, answer in WORDS.items():
            if word in subject:
                return answer
        self.arrivals.write(f"{time.time():.6f} {platform} {key}\n")
        return (204 if platform == "webhook" else 201), ""


ANSWERS = {
    "redirects": (307, "Location: https://honest.push.example/led\r\n"),
    "throttles": (429, f"Retry-After: {LONG}\r\n"),
    "overloaded": (503, f"Retry-After: {LONG}\r\n"),
    "fails": (500, ""),
    # As Mozilla's push service says that our key is wrong, and as WNS says that we are blocked.
    "refuses": (401, "", '{"errno":109,"message":"bad key"}'),
    "blocks": (410, "X-WNS-Error-Description: The domain is blocked.\r\n"),
}
# What the honest ones say about an address with this word in it.
WORDS = {"invented": (404, ""), "gone": (410, ""), "busy": (429, f"Retry-After: {LONG}\r\n"), "odd": (418, "")}
