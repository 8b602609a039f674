"""Listeners at their own ports: relays, and receivers that replace other services."""

import http.server
import random
import socket
import ssl
import threading


class Listener:
    """Accepts connections until it is closed; each has a thread for a subclass's `serve(connection)`."""

    def __init__(self, listener=None):
        self.listener = listener or socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # Closed.
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def close(self):
        self.listener.close()


class WebServer:
    """An HTTP server; `answer(path, fields, body)` makes the status, fields and body of each answer."""

    def __init__(self, answer, context=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, fields, body = answer(self.path, self.headers, body)
                self.send_response_only(status)
                for name, value in fields.items():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def receive_until(stream, end):
    bytes = b""
    while end not in bytes:
        if not (more := stream.recv(65536)):
            raise ConnectionError
        bytes += more
    return bytes


def pump(source, target):
    """Forwards bytes until the source ends, and shuts the target's side down unless it uses TLS."""
    try:
        while piece := source.recv(65_536):
            target.sendall(piece)
        if not isinstance(target, ssl.SSLSocket):
            target.shutdown(socket.SHUT_WR)
    except (OSError, ValueError):
        pass  # A peer has gone.


class LossyProxy(Listener):
    """Forwards connections, and cuts three of ten answers at a random byte: the server has done its work by then."""

    def __init__(self, port):
        self.port_behind, self.random, self.cuts = port, random.Random(7), 0
        self.lock = threading.Lock()
        super().__init__()

    def serve(self, connection):
        server = socket.create_connection(("127.0.0.1", self.port_behind))
        threading.Thread(target=pump, args=(connection, server), daemon=True).start()
        with connection, server:
            try:
                while piece := server.recv(65_536):
                    with self.lock:
                        is_cut = self.random.random() < 0.3
                        self.cuts += is_cut
                        length = self.random.randrange(len(piece)) if is_cut else len(piece)
                    connection.sendall(piece[:length])
                    if is_cut:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
            except OSError:
                pass  # The client has gone.
