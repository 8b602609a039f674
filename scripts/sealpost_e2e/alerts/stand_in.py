"""A stand-in for a daemon: it serves the daemon's metrics, with some values changed."""

import contextlib
import re

from sealpost_e2e import api, listening, processes, require


class StandIn(listening.WebServer):
    """A target for Prometheus in front of a daemon."""

    def __init__(self, daemon_port):
        self.daemon_port, self.values = daemon_port, {}
        super().__init__(self.scrape)

    def scrape(self, path, fields, _):
        with contextlib.closing(api.connect(self.daemon_port)) as connection:
            status, fields, body = api.exchange(connection, "GET", path, None, {"Authorization": fields["Authorization"]})
        return status, fields, self.changed(body.decode()).encode()

    def changed(self, text):
        """The metrics with the changed values; ends the program if the daemon lacks such a metric."""
        for name, value in self.values.items():
            text, count = re.subn(rf"(?m)^({name}(?:{{.*}})?) .*$", rf"\g<1> {value}", text)
            require(count, f"the daemon has no {name}")
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
