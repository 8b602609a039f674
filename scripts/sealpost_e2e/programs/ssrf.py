"""Lets devices name hosts whose addresses change between look-ups, and watches the daemon's connections.

The daemon runs under strace in its own network. A resolver answers with a TTL of 0: first a public address, later one of loopback, a
private network, or a cloud's metadata service. Each address exists and has a listener. The daemon may try only public addresses.
"""

import collections
import ipaddress
import os
import re
import socket
import struct
import sys
import tempfile
import threading
import time

from sealpost_e2e import api, listening, processes, require, rig
from sealpost_e2e.api import ask
from sealpost_e2e.insiders import network

GLOBAL, GLOBAL6 = "93.184.216.34", "2606:4700::1111"
PRIVATE = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.7.7", "100.100.100.200"]
PRIVATE6 = ["::1", "fd00:ec2::254"]
RESOLVER = "127.0.0.53"
# Each name and its answers in sequence; the last answer repeats.
NAMES = (
    {f"rebinds-{n}": [[GLOBAL], [address]] for n, address in enumerate(PRIVATE)}
    | {f"rebinds6-{n}": [[GLOBAL6], [address]] for n, address in enumerate(PRIVATE6)}
    | {f"leads-inside-{n}": [[address]] for n, address in enumerate(PRIVATE + PRIVATE6)}
    | {
        "both": [[GLOBAL, "127.0.0.1"]], "both-reversed": [["10.1.2.3", GLOBAL]], "both-families": [[GLOBAL, "::1"]],
        "mapped": [["::ffff:127.0.0.1"]], "compatible": [["::127.0.0.1"]], "embedded": [["64:ff9b::7f00:1"]], "unspecified": [["0.0.0.0"]],
    }
)
TIMEOUT = 200  # Longer than libcurl caches an answer, a minute, whatever its TTL.
OPTIONS = {"--inside": "run inside the private network"}


def run(options):
    network.enter("ssrf", sys.argv[3:], [GLOBAL, GLOBAL6, *PRIVATE[1:], *PRIVATE6[1:]])
    with tempfile.TemporaryDirectory(prefix="sealpost-") as folder, Resolver() as resolver:
        sink = Sink()
        network.lay_over(folder, {
            "resolv.conf": f"nameserver {RESOLVER}\noptions timeout:2 attempts:2\n", "nsswitch.conf": "hosts: files dns\n",
            "hosts": "127.0.0.1 localhost\n",
        })
        with rig.Rig(options.sealpost, SERVER_LISTEN="127.0.0.1:8080", LOG_LEVEL="debug") as site:
            trace = site.folder / "trace"
            push_to_all(site, trace, resolver)
            judge(trace.read_text(), sink, resolver)


class Resolver:
    """DNS over UDP for `NAMES` under example.com; simultaneous questions for a name count as one."""

    def __enter__(self):
        self.asked = collections.Counter()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((RESOLVER, 53))
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def serve(self):
        while True:
            try:
                query, client = self.socket.recvfrom(2048)
            except OSError:
                return
            self.socket.sendto(self.answer(query), client)

    def answer(self, query):
        labels, offset = [], 12
        while length := query[offset]:
            labels.append(query[offset + 1 : offset + 1 + length].decode().lower())
            offset += length + 1
        kind = struct.unpack("!H", query[offset + 1 : offset + 3])[0]
        name, question = labels[0], query[12 : offset + 5]
        # A and AAAA are requested together, and count as one look-up of the name.
        self.asked[name, kind] += 1
        answers = NAMES.get(name, [[]])
        addresses = [ipaddress.ip_address(text) for text in answers[min(self.asked[name, kind], len(answers)) - 1]]
        wanted = [address for address in addresses if {4: 1, 6: 28}[address.version] == kind]
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(address.packed)) + address.packed for address in wanted)
        return query[:2] + struct.pack("!HHHHH", 0x8580, 1, len(wanted), 0, 0) + question + records

    def times(self, name):
        return max(self.asked[name, 1], self.asked[name, 28])


class Sink(listening.Listener):
    """Listens at every address, records each connection, and closes it before TLS."""

    def __init__(self):
        self.arrivals = []
        super().__init__(socket.create_server(("::", 443), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512))
        # Proves that the recorder works, as an empty record would prove nothing.
        for address in PRIVATE + PRIVATE6 + [GLOBAL, GLOBAL6]:
            processes.wait_until(lambda: reaches(address), 30, f"the way to {address}")
        require(len(self.arrivals) == len(PRIVATE + PRIVATE6) + 2, "the sink does not hear at every address")
        self.arrivals.clear()

    def serve(self, connection):
        self.arrivals.append(connection.getsockname()[0].removeprefix("::ffff:"))
        connection.close()


def reaches(address):
    """Whether a connection succeeds in the new network."""
    try:
        with socket.create_connection((address, 443), timeout=5) as probe:
            probe.recv(1)
    except OSError:
        return False
    return True


def push_to_all(site, trace, resolver):
    """One browser at each name, one notification to all, until two look-ups of each changing name."""
    site.configuration.write_text('senders:\n  webpush: {type: webpush, subject: "mailto:ops@example.com", allowedHosts: ["*"]}\n')
    command = ["strace", "--follow-forks", "--decode-fds=all", "--trace=connect", "--output", trace]
    process = site.start(command + [site.sealpost, "serve", "--config", "sealpost.yaml"], cwd=site.folder, env=site.environment)
    processes.wait_for_line(process, "serving")
    processes.drain(process)
    client = api.connect(8080)
    key = ask(client, "GET", "/api/webpush/key")["Key"]
    for name in NAMES:
        handle = {"endpoint": f"https://{name}.example.com/{name}", "keys": {"p256dh": key, "auth": "A" * 22}}
        api.register(client, Platform="webpush", Handle=handle)
    for address in PRIVATE:
        handle = {"endpoint": f"https://{address}/", "keys": {"p256dh": key, "auth": "A" * 22}}
        ask(client, "PUT", "/api/register/x", {"Platform": "webpush", "Handle": handle}, expected=[400])
    api.post(client, "hello")
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and any(resolver.times(name) < len(NAMES[name]) for name in NAMES):
        time.sleep(0.2)
    # Time for connections after the last answers.
    time.sleep(3)
    os.kill(processes.children(process.pid)[0], 15)
    process.wait(timeout=60)


def judge(trace, sink, resolver):
    # libc finds its own address by connecting UDP sockets, and sends nothing through them.
    tried = collections.Counter(
        next(group for group in match.groups() if group)
        for match in re.finditer(
            r'connect\(\d+<TCP[^\n]*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")', trace
        )
    )
    wrong = {address: times for address, times in tried.items() if address not in (GLOBAL, GLOBAL6)}
    strangers = [address for address in sink.arrivals if address not in (GLOBAL, GLOBAL6)]
    late = [name for name in NAMES if resolver.times(name) < len(NAMES[name])]
    print(
        f"{len(NAMES)} names, {sum(resolver.asked.values())} questions, {sum(tried.values())} TCP connections tried: "
        f"{dict(tried)}; {len(sink.arrivals)} arrived, {len(strangers)} of them inside; "
        f"{len(late)} names not asked about again"
    )
    require(not wrong and not strangers and not late and {GLOBAL, GLOBAL6} <= set(tried) and sink.arrivals, f"wrong: {wrong} {strangers} {late}")
