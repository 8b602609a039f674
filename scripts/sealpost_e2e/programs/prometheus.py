"""A real Prometheus scrapes the daemon with a token; alerts of config/alerts.yml fire when something breaks, and clear.

First promtool must find nothing to say about the rules, their unit tests, config/prometheus.yml and the daemon's metrics, and
Prometheus must be able to evaluate each rule and each expression of config/grafana.json. Then trouble is made, one kind after
the other, for one daemon with SQLite and for two with PostgreSQL: each alert must fire, and clear when the trouble is over.
While all is well none may fire.

Prometheus has copies of the files with addresses of this machine, and with all durations of the rules sixty times shorter.
With `--blind` the alert about paused lanes is left out of the copy: then the script must fail.
"""

import base64
import datetime
import json
import re
import signal
import socket
import subprocess
import time
import urllib.parse

from sealpost_e2e import api, outbox, postgresql, processes, receiver, rig, several, tls

CONFIG = rig.ROOT / "config"
FACTOR, UNITS = 60, {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Seconds until an alert must have fired or cleared; the longest takes some 30 on an idle machine.
PATIENCE = 120
# Seconds for which nothing may fire at first.
QUIET = 12
MOST_CONNECTIONS = 200


def add_options(parser):
    parser.add_argument("--blind", action="store_true", help="the control: must fail")


def run(options):
    print(check_files())
    fired = watch_one(options) + watch_two(options)
    print(f"fired and cleared: {', '.join(dict.fromkeys(fired))}")


def watch_one(options):
    """Makes trouble for a daemon with SQLite. The alerts that have fired and cleared."""
    settings = {"SERVER_LIMITS_MAXCONNECTIONSPERADDRESS": MOST_CONNECTIONS}
    with outbox.Outbox(options.sealpost, **settings) as site:
        hook = prepare(site)
        with Watch(site, [site.port], options.blind) as watch:
            daemon, _ = site.serve()
            watch_quiet_daemons(site, watch)
            pause_lane(site, watch, daemon)
            refuse_events(site, watch, hook)
            guess_passwords(site, watch)
            open_connections(site, watch)
            daemon = restart_often(site, watch, daemon)
            kill(site, watch, daemon)
            forget_target(watch)
        return watch.fired


def watch_two(options):
    """Makes trouble for two daemons with PostgreSQL. The alerts that have fired and cleared."""
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, 2) as site:
        site.add_user("ada", "admin")
        site.simulate()
        with Watch(site, site.ports, options.blind) as watch:
            for number in range(2):
                site.begin(number)
            watch_quiet_daemons(site, watch)
            lose_server(site, watch)
            lose_database(cluster, watch)
        return watch.fired


def check_files():
    for command in (["check", "rules", CONFIG / "alerts.yml"], ["test", "rules", CONFIG / "alerts-test.yml"]):
        processes.run("promtool", *command)
    rules = re.findall(r"- alert: (\w+)", (CONFIG / "alerts.yml").read_text())
    return f"promtool has checked and tested {len(rules)} alerts"


# MARK: The site

class Hook:
    """The receiver of events, which takes them or answers 500."""

    def __init__(self, site):
        certificate, key = tls.make_certificate(site.folder)
        self.refuses = False
        self.receiver = receiver.Receiver(certificate, key, self.answer)
        secret = site.folder / "events.secret"
        secret.write_text("whsec_" + base64.b64encode(bytes(32)).decode())
        secret.chmod(0o600)
        url = f"https://localhost:{self.receiver.port}/events"
        with open(site.configuration, "a") as text:
            text.write(f"events: {{webhook: {{url: '{url}', secretFile: {secret}, caFile: {certificate}}}}}\n")

    def answer(self, request, number):
        if self.refuses:
            return b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
        return receiver.accept(request, number)


def prepare(site):
    """An administrator, a simulated WNS with one device, and a receiver of events."""
    site.add_user("ada", "admin")
    site.simulate()
    with site.database() as database:
        outbox.add_devices(database, "wns", 1, channels=site.channels())
    return Hook(site)


def post(site):
    api.post(site.connect(), {"Payload": "news", "To": ["news"]})


# MARK: Prometheus

class Watch:
    """A Prometheus that scrapes the daemons at these ports, as long as the `with` lasts."""

    def __init__(self, site, ports, blind):
        self.site, self.blind = site, blind
        self.targets = [f"127.0.0.1:{port}" for port in ports]
        self.folder = site.folder / "prometheus"
        self.folder.mkdir()
        self.port = processes.free_port()
        self.process = None
        # Alerts that have fired and cleared.
        self.fired = []
        self.token = processes.run(
            site.sealpost, "token", "create", "ada", "--scope", "manage", cwd=site.folder, env=site.environment
        ).strip()

    def __enter__(self):
        token = self.folder / "sealpost.token"
        token.touch(mode=0o600)
        token.write_text(self.token)
        rules = (CONFIG / "alerts.yml").read_text()
        (self.folder / "alerts.yml").write_text(shorten(without(rules, "SealpostLanePaused") if self.blind else rules))
        self.configure(self.targets)
        processes.run("promtool", "check", "config", self.configuration)
        with open(self.folder / "log", "w") as log:
            self.process = self.site.start(
                ["prometheus", f"--config.file={self.configuration}", f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
                stderr=log, cwd=self.folder,
            )
        processes.wait_until(lambda: processes.listens(self.port), 60, "Prometheus", self.process)
        processes.wait_until(self.is_ready, 60, "Prometheus", self.process)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)

    @property
    def configuration(self):
        return self.folder / "prometheus.yml"

    def configure(self, targets):
        """Writes config/prometheus.yml for this machine; a Prometheus that runs reads it again."""
        text = (CONFIG / "prometheus.yml").read_text()
        for old, new in (
            ("interval: 15s", "interval: 1s"), ("scheme: https", "scheme: http"), ('["127.0.0.1:9093"]', "[]"),
            ("/etc/prometheus/sealpost.token", f"{self.folder}/sealpost.token"),
            ('["push.example.com:443"]', json.dumps(targets)),
        ):
            if old not in text:
                raise SystemExit(f"config/prometheus.yml has no {old}")
            text = text.replace(old, new)
        self.configuration.write_text(text)
        if self.process:
            self.process.send_signal(signal.SIGHUP)

    def is_ready(self):
        connection = api.connect(self.port)
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == 200

    def ask(self, path, **parameters):
        """What Prometheus' API answers; ends the program if that is an error."""
        connection = api.connect(self.port)
        connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if answer["status"] != "success":
            raise SystemExit(f"Prometheus: {path} {parameters}: {answer}")
        return answer["data"]

    def value(self, expression):
        """The first value of an expression; nothing if it has none."""
        result = self.ask("query", query=expression)["result"]
        return float(result[0]["value"][1]) if result else None

    def firing(self, name=None, **labels):
        """The alerts that fire, all or those of a name and with these labels."""
        wanted = labels | ({"alertname": name} if name else {})
        return [
            alert for alert in self.ask("alerts")["alerts"]
            if alert["state"] == "firing" and wanted.items() <= alert["labels"].items()
        ]

    def await_firing(self, name, meanwhile=lambda: None, **labels):
        """Waits until an alert fires, and looks at its texts; `meanwhile` is called again and again."""
        found = []

        def has_fired():
            meanwhile()
            found.extend(self.firing(name, **labels))
            return found

        processes.wait_until(has_fired, PATIENCE, f"the alert {name}", self.process, pause=0.1)
        texts = str(found[0]["annotations"])
        # What a template leaves or writes that names a label which is not there, or cannot be carried out.
        if any(fault in texts for fault in ("{{", "<no value>", "<error")):
            raise SystemExit(f"{name} is told as {texts}")

    def await_clear(self, name):
        processes.wait_until(lambda: not self.firing(name), PATIENCE, f"the end of {name}", self.process, pause=0.1)
        self.fired.append(name)


def shorten(rules):
    """The rules with each duration divided by the factor: after `for`, and in brackets."""
    def divide(match):
        milliseconds = int(match[2]) * UNITS[match[3]] * 1000 // FACTOR
        return f"{match[1]}{milliseconds}ms{match[4]}"

    return re.sub(r"(?m)( for: |\[)(\d+)([smhd])(\]|$)", divide, rules)


def without(rules, name):
    """The rules without one alert."""
    rest = re.sub(rf"(?ms)^      - alert: {name}\n.*?^\n(?=      )", "", rules)
    if rest == rules:
        raise SystemExit(f"there is no alert {name}")
    return rest


# MARK: While all is well

def watch_quiet_daemons(site, watch):
    """The scrape succeeds with the token and not without, all expressions can be evaluated, and nothing fires."""
    processes.wait_until(lambda: watch.value("min(up)") == 1, 60, "a scrape", watch.process, pause=0.1)
    api.ask(site.connect(), "GET", "/metrics", credentials="Bearer none", expected=[401])
    text = api.ask(site.connect(), "GET", "/metrics", credentials=f"Bearer {watch.token}")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    if done.returncode or done.stdout or done.stderr:
        raise SystemExit(f"promtool check metrics: {done.stdout}{done.stderr}")
    processes.wait_until(
        lambda: (watch.value("min(sum_over_time(up[1h]))") or 0) >= QUIET, 60, f"{QUIET} scrapes", watch.process, pause=0.2
    )
    rules = [rule for group in watch.ask("rules")["groups"] for rule in group["rules"]]
    for rule in rules:
        if rule["health"] != "ok":
            raise SystemExit(f"{rule['name']}: {rule['health']} {rule.get('lastError')}")
    if firing := watch.firing():
        raise SystemExit(f"firing while all is well: {firing}")
    expressions = list(dashboard())
    filled = sum(bool(watch.ask("query", query=expression)["result"]) for expression in expressions)
    families = len(re.findall("(?m)^# TYPE ", text))
    print(
        f"{families} metrics scraped, promtool finds nothing to say; {len(rules)} rules and {len(expressions)} expressions of the "
        f"dashboard evaluated, {filled} with values; nothing fires"
    )


def dashboard():
    """The expressions of the dashboard, with its variables filled in."""
    board = json.loads((CONFIG / "grafana.json").read_text())
    values = {"$__rate_interval": "1m", "$job": "sealpost", "$instance": ".*"}
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in values.items():
                expression = expression.replace(name, value)
            if "$" in expression:
                raise SystemExit(f"{panel['title']}: unknown variable in {expression}")
            yield expression


# MARK: Trouble

def pause_lane(site, watch, daemon):
    """The provider refuses the secret until the right one is back."""
    secret = site.folder / "simulators/wns.secret"
    right = secret.read_text()
    reload(site, daemon, secret, "wrong")
    post(site)
    watch.await_firing("SealpostLaneRefused", lane="wns")
    watch.await_firing("SealpostLanePaused", lane="wns")
    reload(site, daemon, secret, right)
    watch.await_clear("SealpostLanePaused")
    watch.await_clear("SealpostLaneRefused")


def reload(site, daemon, file, text):
    """Changes a file with credentials, and has the daemon read it."""
    position = site.log.stat().st_size
    file.write_text(text)
    daemon.send_signal(signal.SIGHUP)
    processes.wait_until(lambda: b"credentials reloaded" in site.read_log(position), 30, "the reload", daemon)


def refuse_events(site, watch, hook):
    hook.refuses = True
    post(site)
    watch.await_firing("SealpostEventsPaused")
    hook.refuses = False
    watch.await_clear("SealpostEventsPaused")


def guess_passwords(site, watch):
    def guess():
        for number in range(5):
            api.ask(site.connect(), "GET", "/api/register", credentials=api.basic("alice", f"wrong {number}"), expected=[401, 429])

    watch.await_firing("SealpostSignInsThrottled", meanwhile=guess)
    watch.await_clear("SealpostSignInsThrottled")


def open_connections(site, watch):
    opened = []
    for _ in range(MOST_CONNECTIONS + 20):
        opened.append(socket.create_connection(("127.0.0.1", site.port)))
    processes.wait_until(lambda: any(is_closed(one) for one in opened), 30, "a refused connection", watch.process)
    for one in opened:
        one.close()
    watch.await_firing("SealpostConnectionsRefused")
    watch.await_clear("SealpostConnectionsRefused")


def is_closed(connection):
    """Whether the daemon has answered or closed a connection that has asked nothing."""
    try:
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def restart_often(site, watch, daemon):
    def restart():
        nonlocal daemon
        processes.terminate(daemon)
        daemon, started = site.serve()
        began = time.time() - (time.monotonic() - started)
        processes.wait_until(
            lambda: (watch.value("sealpost_start_time_seconds") or 0) >= int(began), 30, "a scrape of the new process", daemon
        )

    watch.await_firing("SealpostRestarting", meanwhile=restart)
    watch.await_clear("SealpostRestarting")
    return daemon


def kill(site, watch, daemon):
    """The daemon dies; with the next one a secret is about to expire, and with the one after that it is not."""
    daemon.kill()
    daemon.wait()
    watch.await_firing("SealpostDown", severity="critical")
    text = site.configuration.read_text()
    day = datetime.date.today() + datetime.timedelta(days=2)
    site.configuration.write_text(text.replace("type: wns,", f"type: wns, clientSecretExpires: {day},"))
    daemon, _ = site.serve()
    watch.await_clear("SealpostDown")
    names = ("SealpostCredentialExpiresIn14Days", "SealpostCredentialExpiresIn3Days")
    for name in names:
        watch.await_firing(name, credential="senders.wns.clientSecretFile")
    processes.terminate(daemon)
    site.configuration.write_text(text)
    daemon, _ = site.serve()
    for name in names:
        watch.await_clear(name)


def forget_target(watch):
    watch.configure([])
    watch.await_firing("SealpostAbsent")
    watch.configure(watch.targets)
    watch.await_clear("SealpostAbsent")


def lose_server(site, watch):
    site.kill(1)
    watch.await_firing("SealpostServersMissing")
    watch.await_firing("SealpostDown", instance=watch.targets[1])
    site.begin(1)
    watch.await_clear("SealpostServersMissing")
    watch.await_clear("SealpostDown")


def lose_database(cluster, watch):
    cluster.stop(signal.SIGINT)
    cluster.start()
    watch.await_firing("SealpostDatabaseConnectionsLost")
    watch.await_clear("SealpostDatabaseConnectionsLost")
