#!/usr/bin/env python3
"""Receives the pushes of a sender of type `webhook`, and the events of the server, with the library in
Clients/python (docs/backends.md), and prints each once.

    examples/webhook-receiver.py --secret-file hook.secret --port 8000

Put it behind a proxy that speaks TLS: Sealpost sends to https addresses only.
"""

import argparse
import collections
import http.server
import pathlib
import sys

# Without this line, the library would have to be installed; in a clone it is in this folder.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Clients/python"))

from sealpost import Confirmation, Events, InvalidMessage, Push, Webhook

# The number of cached message ids. Sealpost sends a push again if the answer was lost, so repeated
# ids are skipped.
REMEMBERED = 10_000


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 9 and int(length) <= Webhook.maximum_body):
            self.close_connection = True
            return self.answer(413)
        try:
            message = self.server.webhook.verify(self.headers, self.rfile.read(int(length)))
        except InvalidMessage:
            return self.answer(401)
        if message.id not in self.server.seen:
            self.server.seen[message.id] = True
            if len(self.server.seen) > REMEMBERED:
                self.server.seen.popitem(last=False)
            if isinstance(message, Events):
                # Events arrive here only if the server's `events.webhook` also has this receiver's
                # address.
                for event in message.events:
                    print(f"{event.kind} {event.notification}", flush=True)
            elif isinstance(message, Confirmation):
                # A real receiver gives the code to the device, which sends it to the server to
                # prove that the handle is its own.
                print(f"tell {message.handle} the code {message.code}", flush=True)
            elif isinstance(message, Push):
                # A real receiver wakes the device. The device fetches the payload itself, because
                # the push has only the id.
                print(f"wake {message.handle} for {message.secure_id}", flush=True)
        self.answer(204)

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
    server.webhook = Webhook(options.secret_file.read_text())
    server.seen = collections.OrderedDict()
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()


main()
