"""A stand-in for a daemon: it serves the daemon's metrics, with some values changed."""

import http.server
import re
import threading

from sealpost_e2e import api, processes


class StandIn:
    """A target for Prometheus in front of a daemon, during the `with`."""

    def __init__(self, port):
        self.values = {}
        stand_in = self

        class Scrapes(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                connection = api.connect(port)
                connection.request("GET", self.path, headers={"Authorization": self.headers["Authorization"]})
                answer = connection.getresponse()
                body = stand_in.changed(answer.read().decode()).encode()
                connection.close()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type"))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scrapes)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def changed(self, text):
        """The metrics with the changed values; ends the program if the daemon lacks such a metric."""
        for name, value in self.values.items():
            text, count = re.subn(rf"(?m)^({name}(?:{{.*}})?) .*$", rf"\g<1> {value}", text)
            if not count:
                raise SystemExit(f"the daemon has no {name}")
        return text


def fire(watch, stand_in, name, metric, value):
    """Changes a metric until an alert has fired, and restores it until the alert has cleared."""
    # Prometheus computes an increase only for a series that existed before.
    before = f'{metric}{{instance="127.0.0.1:{stand_in.port}"}}'
    processes.wait_until(lambda: watch.value(before) is not None, 60, f"a scrape of {metric}", watch.process, pause=0.1)
    stand_in.values[metric] = value
    watch.await_firing(name)
    del stand_in.values[metric]
    watch.await_clear(name)
