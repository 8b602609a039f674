"""What takes connections at a port of its own: relays, and receivers in the place of others."""

import socket
import ssl
import threading


class Listener:
    """Takes connections until it is closed; `serve(connection)` of a subclass has a thread for each."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
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


def pump(source, target):
    """Passes bytes on until the source ends, and says so to the target unless it speaks TLS."""
    try:
        while piece := source.recv(65_536):
            target.sendall(piece)
        if not isinstance(target, ssl.SSLSocket):
            target.shutdown(socket.SHUT_WR)
    except (OSError, ValueError):
        pass  # One of them has gone.
