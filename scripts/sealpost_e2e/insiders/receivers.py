"""Receivers at the addresses of `network`: a push service, a receiver of webhooks, and hostile hosts.

`sealpost simulate` has neither Web Push nor webhooks. Each line of the file `arrivals` is a push to an honest user: seconds
since 1970, platform, and the path at the push service, or the notification's id and the handle; or a code that confirms a handle.
"""

import asyncio
import json
import re
import time

from sealpost_e2e import tls
from sealpost_e2e.insiders import network

LONG = 3600


def serve(certificate, key, arrivals, ready):
    """Serves until the process is killed."""
    asyncio.run(Receivers(certificate, key, arrivals).serve(ready))


class Receivers:
    def __init__(self, certificate, key, arrivals):
        self.context = tls.serving(certificate, key)
        self.arrivals = open(arrivals, "a", buffering=1)

    async def serve(self, ready):
        servers = []
        for name, address in network.ADDRESSES.items():
            context = None if name == "silent" else self.context
            servers.append(await asyncio.start_server(getattr(self, name), address, 443, ssl=context, backlog=512))
        ready.set()
        await asyncio.gather(*(server.serve_forever() for server in servers))

    async def honest(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                status, more = self.judge(head.split(b" ", 2)[1].decode(), body)
                writer.write(f"HTTP/1.1 {status} x\r\n{more}Content-Length: 0\r\n\r\n".encode())
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()

    async def hangs(self, reader, writer):
        """Never answers; as `silent` it does not even start TLS."""
        await asyncio.sleep(LONG)

    silent = hangs

    async def endless(self, reader, writer):
        """Sends an endless answer, a byte at a time."""
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 100000000\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.2)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    def judge(self, path, body):
        """A push service by the path, a webhook by the handle; the answer names the content."""
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


# The honest services' answers for an address with this word.
WORDS = {"invented": (404, ""), "gone": (410, ""), "busy": (429, f"Retry-After: {LONG}\r\n"), "odd": (418, "")}
