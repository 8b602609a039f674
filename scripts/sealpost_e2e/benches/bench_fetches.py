"""Responses a second, as ratios to other servers on the same machine.

  product    GET /api/notifications/{id} (Bearer, 200: token check, SQLite read, decryption, JSON)
  notice     the same with a payload of 1,000 bytes instead of 25
  unchanged  either with If-None-Match (304)
  list       GET /api/notifications of 200 notices: 200, in bytes of content a second
  bare       SocketHTTP alone

The others are an empty Hummingbird server, also with TLS, and nginx with the product's bytes in a file. A round alternates each
pair every second; the median of the rounds' ratios counts.
"""

import dataclasses
import json
import pathlib
import statistics
import urllib.error
import urllib.request

from sealpost_e2e import api, figures, processes, require, rig, tls

CONNECTIONS = 64
LIST_CONNECTIONS = 8  # The limit of queued lists for one user.
NOTICES = 200
# A plausible message of a laboratory or a bank: a payload of 1,000 bytes of JSON.
NOTICE = {"Title": "Your test result is in", "Body": ("Nothing to worry about. " * 60)[:956]}
LIMITS = {
    "product / Hummingbird": 1.6, "product / nginx": 1.1, "bare / Hummingbird": 2.3, "product TLS / Hummingbird TLS": 1.3,
    "unchanged / product": 0, "unchanged notice / notice": 0, "unchanged / whole, of both": 0.95,
    "bytes of list / bytes of notice": 0.5,
}
# Later pairs replace the rates of "product" and "notice": both then belong to the answers with 304.
PAIRS = [
    ("list", "notice"), ("product", "Hummingbird"), ("product", "nginx"), ("bare", "Hummingbird"), ("product TLS", "Hummingbird TLS"),
    ("unchanged", "product"), ("unchanged notice", "notice"),
]
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log /dev/null;
worker_processes 2;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    types {{ application/json json; }}
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        location / {{ try_files /answer.json =404; }}
    }}
}}
"""
OPTIONS = {
    "peers": "the folder with sockethttp-hello and hummingbird-hello", "--rounds": (7, "rounds"),
    "--seconds": (4, "for each measurement"),
}


@dataclasses.dataclass
class Target:
    """An address with wrk's fields and number of connections."""

    url: str
    fields: dict = dataclasses.field(default_factory=dict)
    connections: int = CONNECTIONS

    def rate(self, seconds):
        """Requests a second; ends the program at a response other than success or 304."""
        fields = [text for name, value in self.fields.items() for text in ("--header", f"{name}: {value}")]
        return figures.steady_load(self.url, seconds, self.connections, 2, *fields)[0]

    def fetch(self):
        """The body and the ETag of a response."""
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=self.fields), context=tls.trusting()) as answer:
            return answer.read(), answer.headers["ETag"]

    def when_changed(self, tag):
        """The same request with If-None-Match: 304 while the ETag matches."""
        target = dataclasses.replace(self, fields=self.fields | {"If-None-Match": tag})
        try:
            target.fetch()
        except urllib.error.HTTPError as error:
            if error.code == 304:
                return target
        raise SystemExit(f"{self.url} is not answered with 304")


class Product(rig.Rig):
    """A daemon with its own port, a short notification, a notice, and a user with a list of notices."""

    def __init__(self, sealpost, has_tls=False, wrapper=(), quotas=rig.QUOTAS):
        super().__init__(sealpost, quotas=quotas, LOG_LEVEL="error")
        self.folder.chmod(0o755)
        self.listen_itself(has_tls)
        self.add_user("bob")
        self.daemon = self.start([*wrapper, self.sealpost, "serve"], cwd=self.folder, env=self.environment, stderr=None)
        processes.wait_until(lambda: processes.listens(self.port), 120, "the daemon")
        connection = self.connect()
        self.token, self.list_token = api.sign_in(connection, "alice"), api.sign_in(connection, "bob")
        self.id = api.post(connection, "Your test result is in.", credentials=self.token)
        self.notice_id = api.post(connection, {"Payload": NOTICE}, credentials=self.token)
        connection.close()

    def target(self, path, token=None, **rest):
        scheme = "https" if self.context else "http"
        fields = {"Authorization": token or self.token, "MyToken": "1000"}
        return Target(f"{scheme}://127.0.0.1:{self.port}/api/notifications{path}", fields, **rest)

    def fill_list(self):
        connection = self.connect()
        for _ in range(NOTICES):
            api.post(connection, {"Payload": NOTICE}, credentials=self.list_token)
        connection.close()


def start_peer(site, program, *arguments):
    """Starts a server with its port as the first argument. Returns the port."""
    port = processes.free_port()
    process = site.start([program, str(port), *map(str, arguments)], stderr=None)
    processes.wait_until(lambda: processes.listens(port), 30, str(program), process)
    return port


def start_nginx(site):
    """nginx with the response in the folder. Returns its port."""
    port = processes.free_port()
    (site.folder / "nginx.conf").write_text(NGINX.format(folder=site.folder, port=port))
    process = site.start(["/usr/sbin/nginx", "-p", site.folder, "-c", site.folder / "nginx.conf"], stderr=None)
    processes.wait_until(lambda: processes.listens(port), 30, "nginx", process)
    return port


def run(options):
    peers = pathlib.Path(options.peers).resolve()
    with Product(options.sealpost) as site, Product(options.sealpost, has_tls=True) as secure:
        site.fill_list()
        product, notice = site.target(f"/{site.id}"), site.target(f"/{site.notice_id}")
        notices = site.target(f"?limit={NOTICES}", site.list_token, connections=LIST_CONNECTIONS)
        answer, tag = product.fetch()
        notice_answer, notice_tag = notice.fetch()
        list_answer, _ = notices.fetch()
        require(len(json.loads(list_answer)["Notifications"]) == NOTICES, "the list is not whole")
        (site.folder / "answer.json").write_bytes(answer)
        hello = peers / "hummingbird-hello"
        targets = {
            "product": product, "notice": notice, "list": notices, "unchanged": product.when_changed(tag),
            "unchanged notice": notice.when_changed(notice_tag), "product TLS": secure.target(f"/{secure.id}"),
            "bare": Target(f"http://127.0.0.1:{start_peer(site, peers / 'sockethttp-hello')}/"),
            "Hummingbird": Target(f"http://127.0.0.1:{start_peer(site, hello)}/"),
            "Hummingbird TLS": Target(
                f"https://127.0.0.1:{start_peer(site, hello, secure.folder / 'certificate.pem', secure.folder / 'key.pem')}/"
            ),
            "nginx": Target(f"http://127.0.0.1:{start_nginx(site)}/"),
        }
        require(targets["nginx"].fetch()[0] == answer, "nginx serves other bytes")
        measure(targets, len(list_answer) / len(notice_answer), options)


def measure(targets, list_length, options):
    """`list_length` is the size of the list in notices."""
    rounds = []
    for number in range(1, options.rounds + 1):
        rates, ratios = {}, []
        for one, other in PAIRS:
            # They alternate, as a shared machine's pace varies by half.
            turns = [(targets[one].rate(1), targets[other].rate(1)) for _ in range(options.seconds)]
            rates[one], rates[other] = map(statistics.mean, zip(*turns))
            ratios.append(rates[one] / rates[other])
        whole = (rates["unchanged"] + rates["unchanged notice"]) / (rates["product"] + rates["notice"])
        rounds.append([*ratios[1:], whole, ratios[0] * list_length])
        told = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
        print(f"round {number}: {' '.join(f'{ratio:.2f}' for ratio in rounds[-1])}  (a second: {told})", flush=True)
    require(figures.report_medians(rounds, LIMITS))
