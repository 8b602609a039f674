"""Restarts the daemon by SIGTERM repeatedly under load behind a proxy: no request may fail or be lost.

Clients fetch and post with and without pauses, so that the proxy's kept connections are in every state when a daemon stops. Before
that the program forces the worst case: the proxy freezes while the daemon closes the kept connections and a client sends its
request. The resumed proxy must not use a closed connection for a request that it cannot repeat.
"""

import functools
import http.client
import os
import random
import signal
import statistics
import threading
import time

from sealpost_e2e import api, crew, processes, require, rig

FETCHERS, POSTERS = 6, 4
OPTIONS = {"--count": (1000, "restarts"), "--proxy": {"choices": ["nginx", "haproxy", "varnish", "squid"], "default": "nginx"}}


class Load(crew.Crew):
    """Clients, each with its own kept connection."""

    def __init__(self, port, known):
        self.port, self.known = port, known
        self.posted, self.failures = {}, []
        self.answered = 0
        roles = [self.fetching] * FETCHERS + [self.posting] * POSTERS
        super().__init__(*(functools.partial(self.run, role, number) for number, role in enumerate(roles)))

    def run(self, role, number):
        connection = api.connect(self.port)
        # Every second client hardly pauses; the others' pauses are about as long as a stopping server waits.
        longest = 0.12 if number % 2 else 0.002
        for turn in range(10**9):
            if self.ends.wait(random.uniform(0, longest)):
                return connection.close()
            try:
                role(connection, f"{number}-{turn}")
                with self.lock:
                    self.answered += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                with self.lock:
                    self.failures.append(f"{time.strftime('%T')} {role.__name__} {number}-{turn}: {error!r}")
                connection.close()

    def fetching(self, connection, _):
        id, payload = self.known
        if (found := api.fetch(connection, id)) != payload:
            raise ValueError(f"fetched {found!r}")

    def posting(self, connection, name):
        id = api.post(connection, name)
        with self.lock:
            if self.posted.setdefault(id, name) != name:
                raise ValueError(f"{id} was given out twice")

    def wait_for(self, answers, daemon):
        """Waits for more answers; fails if a daemon ends or hangs."""
        enough, deadline = self.answered + answers, time.monotonic() + 60
        while self.answered < enough and time.monotonic() < deadline and daemon.poll() is None:
            time.sleep(0.001)
        if self.answered < enough:
            self.failures.append("no answers within a minute")


def run(options):
    with rig.Rig(options.sealpost) as site:
        freeze_proxy(site, options.proxy)
    with rig.Rig(options.sealpost) as site:
        restart(site, options.proxy, options.count)


def freeze_proxy(site, kind):
    proxy = site.proxy(kind, port := processes.free_port())
    # HAProxy's worker is a child of the started process, nginx is alone.
    worker = next(iter(processes.children(proxy.pid)), proxy.pid)
    daemon, _ = site.serve()
    client, other = (api.connect(port) for _ in range(2))
    id = api.post(client, "posted")
    for request in (lambda: api.post(client, "posted again"), lambda: api.fetch(client, id)):
        # Another client's too, so that the proxy keeps a connection for any request.
        for connection in (client, other):
            api.fetch(connection, id)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(request()))
        os.kill(worker, signal.SIGSTOP)
        try:
            asking.start()
            # Until the proxy has unread bytes of a client.
            while asking.is_alive() and not any(to_read for _, _, to_read in processes.sockets(port)):
                time.sleep(0.001)
            processes.terminate(daemon)
            daemon, _ = site.serve()
        finally:
            os.kill(worker, signal.SIGCONT)
        asking.join()
        require(answers, f"{kind} used a connection that was gone")
    processes.terminate(daemon)
    processes.terminate(proxy)


def restart(site, kind, count):
    proxy = site.proxy(kind, port := processes.free_port())
    daemon, _ = site.serve()
    load = Load(port, (site.post("known"), "known"))
    starts, stops, begin = [], [], time.monotonic()
    while len(stops) < count and len(load.failures) < 20:
        load.wait_for(random.randrange(60), daemon)
        start = time.monotonic()
        code, rest = processes.terminate(daemon)
        stops.append(time.monotonic() - start)
        if code != 0:
            load.failures.append(f"the daemon ended with {code}: {rest}")
        daemon, seconds = site.serve()
        starts.append(seconds)
    load.stop()
    seconds = time.monotonic() - begin

    direct = site.connect()
    missing = sum(api.fetch(direct, id) != payload for id, payload in load.posted.items())
    processes.terminate(daemon)
    _, complaints = processes.terminate(proxy)
    stored = site.read("select count(*) from notification") - 1

    if load.failures:
        print(*load.failures, complaints, sep="\n")
    print(
        f"{len(stops)} restarts behind {kind} in {seconds:.0f} s: {len(load.failures)} of "
        f"{load.answered + len(load.failures)} requests failed, {missing} of {len(load.posted)} posts lost, "
        f"{stored - len(load.posted)} stored unasked; stop {1000 * statistics.median(stops):.0f} ms, start {1000 * statistics.median(starts):.0f} ms"
    )
    require(not load.failures and not missing and stored == len(load.posted))
