"""Tests the daemon against its OpenAPI document with schemathesis: all checks, thousands of requests an operation.

The daemon must accept the requests that the document allows, refuse those that it forbids, and give only documented answers. Two
daemons share the operations; then schemathesis follows the links between answers. Tests/Clients/schemathesis.toml has the
settings, each with its reason. All of it takes hours; --max-examples and --chains shorten it.
"""

import json
import os
import queue
import re
import subprocess
import threading
import time

from sealpost_e2e import api, crew, outbox, require, rig

CLIENTS = rig.ROOT / "Tests/Clients"
TOOL = rig.ROOT / ".venv-e2e/bin/schemathesis"
USERS = {name: "admin" for name in ("root", "amy", "zoe", "carol", "registrar", "tester", "listener", "nobody")} | {"victim": "device"}
# The longest first, so that both daemons end at the same time.
LONGEST = ["addUser", "changeUser", "changeOwnPassword", "sendNotification", "register", "listNotifications", "getNotification"]
OPTIONS = {
    "--max-examples": (5000, "cases of each operation"), "--chains": (50, "runs along the links, each with its own seed"),
    "--seed": (1, "seed of all random choices"),
    "--operations": {"nargs": "*", "metavar": "ID", "help": "only these, and the chains"},
}


class Site(outbox.Outbox):
    """A daemon with simulated providers, some users with tokens, and a device or two."""

    def __init__(self, sealpost):
        # A trusted proxy gives each request a new address, and hashes have the least cost.
        super().__init__(sealpost, SERVER_TRUSTEDPROXIES='["127.0.0.1"]', PASSWORDS_MEMORY=7168, PASSWORDS_PASSES=5, EVENTS_KEEP=604800)

    def prepare(self):
        """Starts all of it. Returns the values for `schemathesis_hooks.py`."""
        for name, role in USERS.items():
            self.add_user(name, role)
        # The user of the document's examples, which must also work.
        self.call("user", "role", "alice", "admin")
        self.simulate()
        self.add_senders()
        with open(self.configuration, "a") as file:
            file.write("alerts: {allowed: {badge: 9999}, templates: {appointment: {bodyKey: APPOINTMENT}}}\n")
        self.serve()
        connection = self.connect()

        def ask(name, method, path, body=None):
            return api.ask(connection, method, path, body, api.basic(name))

        # The scope `manage` needs a token that was created with it.
        scopes = {name: ["fetch", "send", "register", "manage"] for name in ("alice", "root")}
        tokens = {
            name: ask("root", "POST", "/api/tokens", {"User": name, "Scopes": scopes.get(name)})["Token"]
            for name in ("alice", *USERS)
        }
        device = api.register(connection, api.basic("tester"), Platform="fcm", Handle="tested")
        stream = api.register(connection, api.basic("listener"), Platform="stream")
        for number in range(30):
            ask("root", "POST", "/api/notifications", {"Payload": number, "To": ["username:amy"], "ReadOnce": number % 10 == 0})
        return {"port": self.port, "password": api.PASSWORD, "tokens": tokens, "device": device, "stream": stream}


class Runs:
    """Runs of schemathesis, and their results."""

    def __init__(self):
        self.failed, self.count, self.lock = [], 0, threading.Lock()

    def run(self, site, facts, name, seed, *arguments):
        """One run; `name` is for the report."""
        start = time.monotonic()
        environment = os.environ | {
            "SEALPOST_SITE": json.dumps(facts | {"seed": seed}), "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
            "PYTHONPATH": str(CLIENTS), "NO_COLOR": "1", "COLUMNS": "120",
        }
        ended = subprocess.run(
            [TOOL, "--config-file", CLIENTS / "schemathesis.toml", "run", rig.ROOT / "Sources/PushServer/openapi.json",
                "--url", f"http://127.0.0.1:{facts['port']}", "--seed", str(seed), "--continue-on-failure", *arguments],
            env=environment, cwd=site.folder, capture_output=True, text=True,
        )
        # "Test cases: 5,112 generated, 5,112 passed", or the like.
        cases = re.search(r"Test cases:\n?\s*([\d,]+) generated(.*)", ended.stdout)
        count = int(cases[1].replace(",", "")) if cases else 0
        seconds = time.monotonic() - start
        with self.lock:
            self.count += count
            print(f"{name}: {count} cases{cases[2] if cases else ''} in {seconds:.0f} s", flush=True)
            # schemathesis exits with 0 even after errors of its own or of the hooks.
            if ended.returncode != 0 or not count or "errored" in cases[2]:
                self.failed.append(name)
                print(ended.stdout[-20_000:], ended.stderr[-2000:], flush=True)


def run(options):
    document = json.loads((rig.ROOT / "Sources/PushServer/openapi.json").read_text())
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    if options.operations is not None:
        ids = options.operations
    ids.sort(key=lambda id: LONGEST.index(id) if id in LONGEST else len(LONGEST))
    waiting = queue.SimpleQueue()
    for id in ids:
        waiting.put((id, options.seed, ["--phases", "examples,coverage,fuzzing", "--max-examples", str(options.max_examples),
            "--include-operation-id", id]))
    # Each would repeat a step, whose answer has changed with the daemon's state. Wrong credentials would be throttled.
    for number in range(1, options.chains + 1):
        waiting.put((f"chains-{number}", options.seed + number, ["--phases", "stateful", "--max-examples", "500",
            "--exclude-checks", "ignored_auth"]))
    runs, start = Runs(), time.monotonic()

    def work(site, facts):
        while True:
            try:
                name, seed, arguments = waiting.get_nowait()
            except queue.Empty:
                return
            runs.run(site, facts, name, seed, *arguments)

    with Site(options.sealpost) as first, Site(options.sealpost) as second:
        facts = [site.prepare() for site in (first, second)]
        crew.together(lambda pair: work(*pair), zip((first, second), facts))
    print(f"schemathesis: {runs.count} cases of {len(ids)} operations and {options.chains} chains in "
        f"{time.monotonic() - start:.0f} s, {len(runs.failed)} of them failed{': ' + ', '.join(runs.failed) if runs.failed else ''}")
    require(not runs.failed)
