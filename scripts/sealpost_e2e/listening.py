"""Listeners at their own ports: relays, and receivers that replace other services."""

import contextlib
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
    with contextlib.suppress(OSError, ValueError):  # A peer has gone.
        while piece := source.recv(65_536):
            target.sendall(piece)
        if not isinstance(target, ssl.SSLSocket):
            target.shutdown(socket.SHUT_WR)


def forward(client, server):
    """Forwards bytes both ways until the server's answer ends, and closes both connections."""
    there = threading.Thread(target=pump, args=(client, server), daemon=True)
    there.start()
    pump(server, client)
    # Ends the other thread before the close: OpenSSL could write its alert into a reused descriptor.
    shut_down(client)
    there.join(timeout=60)
    client.close()
    server.close()


class Forwarder(Listener):
    """Forwards connections to a port, after TLS if there is a context; `close` ends those whose peers have not."""

    def __init__(self, port, context=None):
        self.to, self.context, self.connections = port, context, []
        super().__init__()

    def serve(self, client):
        try:
            client = self.context.wrap_socket(client, server_side=True) if self.context else client
            server = socket.create_connection(("127.0.0.1", self.to), timeout=60)
        except OSError:
            return client.close()
        self.connections += [client, server]
        forward(client, server)

    def close(self):
        # A shutdown, as a thread waits for more of each connection.
        for one in (self.listener, *self.connections):
            shut_down(one)
        self.listener.close()


def shut_down(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


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
            with contextlib.suppress(OSError):  # The client has gone.
                while piece := server.recv(65_536):
                    with self.lock:
                        is_cut = self.random.random() < 0.3
                        self.cuts += is_cut
                        length = self.random.randrange(len(piece)) if is_cut else len(piece)
                    connection.sendall(piece[:length])
                    if is_cut:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
