#!/usr/bin/env python3
"""Receives the pushes of a sender of type `webhook`, verifies their signatures (Standard Webhooks),
and prints each once.

    examples/webhook-receiver.py --secret-file hook.secret --port 8000

Put it behind a proxy that speaks TLS: Sealpost sends to https addresses only.
"""

import argparse
import base64
import collections
import hmac
import http.server
import json
import pathlib
import time

# The permitted clock skew in seconds. A recorded request could be replayed for as long.
TOLERANCE = 300
# The number of cached ids: Sealpost sends a push again if the answer was lost.
REMEMBERED = 10_000


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_signed(body):
            return self.answer(401)
        push, id = json.loads(body), self.headers["webhook-id"]
        if id not in self.server.seen:
            self.server.seen[id] = True
            if len(self.server.seen) > REMEMBERED:
                self.server.seen.popitem(last=False)
            if push.get("type") == "sealpost.events":
                # The server's `events.webhook` has this address, too.
                for event in push["data"]["Events"]:
                    print(f"{event['Kind']} {event['Notification']}", flush=True)
            elif "confirmation" in push:
                # Here a receiver gives the device the code. The device returns it to prove that the handle is its own.
                print(f"tell {push['handle']} the code {push['confirmation']}", flush=True)
            else:
                # Here a receiver wakes the device, which fetches the payload itself: the push has only the id.
                print(f"wake {push['handle']} for {push['secureId']}", flush=True)
        self.answer(204)

    def is_signed(self, body):
        id, timestamp = self.headers.get("webhook-id", ""), self.headers.get("webhook-timestamp", "")
        if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE:
            return False
        content = f"{id}.{timestamp}.".encode() + body
        given = self.headers.get("webhook-signature", "").split()
        expected = ("v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in self.server.keys)
        return any(hmac.compare_digest(one, other) for one in expected for other in given)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--secret-file", type=pathlib.Path, required=True, help="the file that secretFile names")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Receiver)
    secrets = options.secret_file.read_text().split()
    server.keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    server.seen = collections.OrderedDict()
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()


main()
