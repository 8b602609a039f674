"""A collector of OpenTelemetry that keeps all that it reads, without its compression."""

import gzip
import json
import threading

from sealpost_e2e import listening


class Collector(listening.WebServer):
    """Accepts every export of spans."""

    def __init__(self):
        self.requests, self.lock = [], threading.Lock()
        super().__init__(self.take)
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def take(self, path, fields, body):
        with self.lock:
            self.requests.append((f"{path}\n{fields}".encode(), gzip.decompress(body)))
        return 200, {"Content-Type": "application/json"}, b"{}"

    def bytes(self):
        """All requests, one after the other."""
        with self.lock:
            return b"\n".join(head + body for head, body in self.requests)

    def spans(self):
        with self.lock:
            bodies = [json.loads(body) for _, body in self.requests]
        return [span for body in bodies for resource in body["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]
