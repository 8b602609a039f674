"""A collector of OpenTelemetry that keeps all that it reads, without its compression."""

import gzip
import http.server
import json
import threading


class Collector:
    """An HTTP server that accepts every export of spans."""

    def __init__(self):
        self.requests, self.lock = [], threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(collector):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
                with collector.lock:
                    collector.requests.append((f"{self.path}\n{self.headers}".encode(), body))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        return Handler

    def bytes(self):
        """All requests, one after the other."""
        with self.lock:
            return b"\n".join(head + body for head, body in self.requests)

    def spans(self):
        with self.lock:
            bodies = [json.loads(body) for _, body in self.requests]
        return [span for body in bodies for resource in body["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]
