"""What takes connections at a port of its own: relays, and receivers in the place of others."""

import socket
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
