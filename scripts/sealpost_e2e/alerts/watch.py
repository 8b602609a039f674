"""A real Prometheus with copies of config/alerts.yml and config/prometheus.yml, and its alerts."""

import contextlib
import json
import re
import signal
import subprocess
import urllib.parse

from sealpost_e2e import api, processes, require, rig

CONFIG = rig.ROOT / "config"
# The factor that shortens all durations and ages of the rules, and the longest duration in seconds.
FACTOR, LONGEST, UNITS = 60, 30, {"s": 1, "m": 60, "h": 3600, "d": 86400}
TIMEOUT = 180  # Seconds until an alert must have fired or cleared; the slowest takes some 60 on an idle machine.
QUIET = 12  # Seconds of the initial check that no alert fires.


class Watch:
    """A Prometheus that scrapes daemons at these ports, by TLS with a `certificate`, without the alerts `left_out`."""

    def __init__(self, site, ports, left_out=(), certificate=None):
        self.site, self.left_out, self.certificate = site, left_out, certificate
        self.targets = [f"127.0.0.1:{port}" for port in ports]
        self.folder = site.folder / "prometheus"
        self.folder.mkdir()
        self.configuration = self.folder / "prometheus.yml"
        self.port = processes.free_port()
        self.process = None
        self.fired = []  # Alerts that have fired and cleared.
        self.token = site.call("token", "create", "ada", "--scope", "metrics").strip()

    def __enter__(self):
        token = self.folder / "sealpost.token"
        token.touch(mode=0o600)
        token.write_text(self.token)
        rules = (CONFIG / "alerts.yml").read_text()
        for name in self.left_out:
            rules = without(rules, name)
        (self.folder / "alerts.yml").write_text(shorten(rules))
        self.configure(self.targets)
        processes.run("promtool", "check", "config", self.configuration)
        with open(self.folder / "log", "w") as log:
            self.process = self.site.start(
                ["prometheus", f"--config.file={self.configuration}", f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
                stderr=log, cwd=self.folder,
            )
        processes.wait_until(lambda: processes.listens(self.port), 60, "Prometheus", self.process)
        is_ready = lambda: api.status(api.connect(self.port), "/-/ready") == 200
        processes.wait_until(is_ready, 60, "Prometheus", self.process)
        return self

    def __exit__(self, *_):
        processes.end(self.process)

    def configure(self, targets):
        """Writes config/prometheus.yml for this machine, and reloads a running Prometheus."""
        text = (CONFIG / "prometheus.yml").read_text()
        secure = f"scheme: https\n    tls_config: {{ca_file: {self.certificate}, server_name: localhost}}"
        for old, new in (
            ("interval: 15s", "interval: 1s"), ("scheme: https", secure if self.certificate else "scheme: http"), ('["127.0.0.1:9093"]', "[]"),
            ("/etc/prometheus/sealpost.token", f"{self.folder}/sealpost.token"),
            ('["push.example.com:443"]', json.dumps(targets)),
        ):
            require(old in text, f"config/prometheus.yml has no {old}")
            text = text.replace(old, new)
        self.configuration.write_text(text)
        if self.process:
            self.process.send_signal(signal.SIGHUP)

    def ask(self, path, **parameters):
        """The response of Prometheus' API; ends the program at an error."""
        with contextlib.closing(api.connect(self.port)) as connection:
            return api.ask(connection, "GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}", expected=[200])["data"]

    def value(self, expression):
        """The first value of an expression, or `None`."""
        result = self.ask("query", query=expression)["result"]
        return float(result[0]["value"][1]) if result else None

    def await_scrape(self):
        """Waits until Prometheus has scraped every target once."""
        processes.wait_until(lambda: self.value("min(up)") == 1, 60, "a scrape", self.process, pause=0.1)

    def firing(self, name=None, **labels):
        """The firing alerts: all, or those with a name and labels."""
        wanted, alerts = labels | ({"alertname": name} if name else {}), self.ask("alerts")["alerts"]
        return [alert for alert in alerts if alert["state"] == "firing" and wanted.items() <= alert["labels"].items()]

    def await_firing(self, name, meanwhile=lambda: None, **labels):
        """Waits until an alert fires, calling `meanwhile`, and checks its texts."""
        found = []

        def has_fired():
            meanwhile()
            found.extend(self.firing(name, **labels))
            return found

        processes.wait_until(has_fired, TIMEOUT, f"the alert {name}", self.process, pause=0.1)
        texts = str(found[0]["annotations"])
        # Marks of a template that failed or names a missing label.
        require(not any(fault in texts for fault in ("{{", "<no value>", "<error")), f"{name} is told as {texts}")

    def await_both(self, name, meanwhile=lambda: None):
        """Waits until an alert has fired, calling `meanwhile`, and then cleared."""
        self.await_firing(name, meanwhile)
        self.await_clear(name)

    def await_clear(self, *names, meanwhile=lambda: None):
        for name in names:
            def has_cleared():
                meanwhile()
                return not self.firing(name)

            processes.wait_until(has_cleared, TIMEOUT, f"the end of {name}", self.process, pause=0.1)
            self.fired.append(name)


def names():
    return re.findall(r"- alert: (\w+)", (CONFIG / "alerts.yml").read_text())


def shorten(rules):
    """The rules with shorter durations (`for`, brackets) and shorter ages in metrics of seconds."""
    def divide(match):
        milliseconds = min(int(match[2]) * UNITS[match[3]] * 1000 // FACTOR, LONGEST * 1000)
        return f"{match[1]}{milliseconds}ms{match[4]}"

    def divide_age(match):
        # A shorter age is the duration of a request, and stays.
        return f"{match[1]}{int(match[2]) // FACTOR}" if int(match[2]) >= FACTOR else match[0]

    rules = re.sub(r"(?m)( for: |\[)(\d+)([smhd])(\]|$)", divide, rules)
    return re.sub(r"(?m)(_seconds\) > )(\d+)$", divide_age, rules)


def without(rules, name):
    rest = re.sub(rf"(?ms)^      - alert: {name}\n.*?^\n(?=      )", "", rules)
    require(rest != rules, f"there is no alert {name}")
    return rest


def watch_quiet_daemons(site, watch):
    """A scrape needs the token, every expression evaluates, and no alert fires."""
    watch.await_scrape()
    api.ask(site.connect(), "GET", "/metrics", credentials="Bearer none", expected=[401])
    text = api.ask(site.connect(), "GET", "/metrics", credentials=f"Bearer {watch.token}")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    require(not done.returncode and not done.stdout and not done.stderr, f"promtool check metrics: {done.stdout}{done.stderr}")
    is_over = lambda: (watch.value("min(sum_over_time(up[1h]))") or 0) >= QUIET
    processes.wait_until(is_over, 60, f"{QUIET} scrapes", watch.process, pause=0.2)
    rules = [rule for group in watch.ask("rules")["groups"] for rule in group["rules"]]
    for rule in rules:
        require(rule["health"] == "ok", f"{rule['name']}: {rule['health']} {rule.get('lastError')}")
    require(not (firing := watch.firing()), f"firing while all is well: {firing}")
    filled = [bool(watch.ask("query", query=expression)["result"]) for expression in dashboard()]
    print(f"{len(rules)} rules and {len(filled)} expressions of the dashboard evaluated, {sum(filled)} with values; nothing fires")


def dashboard():
    """The dashboard's expressions, with values for its variables."""
    board = json.loads((CONFIG / "grafana.json").read_text())
    values = {"$__rate_interval": "1m", "$job": "sealpost", "$instance": ".*"}
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = re.sub(r"\$\w+", lambda name: values.get(name[0], name[0]), target["expr"])
            require("$" not in expression, f"{panel['title']}: unknown variable in {expression}")
            yield expression
