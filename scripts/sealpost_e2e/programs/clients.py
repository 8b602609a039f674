"""Tests the daemon with third-party clients: none of their requests may fail.

Python's http.client and curl with kept connections, chunked uploads and `Expect: 100-continue`; wrk and h2load at full speed.
"""

import json
import re

from sealpost_e2e import api, processes, require, rig

TEXT = "Your test result is in."
# Commands, and what each must print.
LOADS = {
    ("wrk", "--threads", "2", "--connections", "8", "--duration", "1s"): [r"[1-9]\d* requests in"],
    ("h2load", "--h1", "--clients", "8", "--requests", "4000"): ["4000 succeeded, 0 failed, 0 errored, 0 timeout", "status codes: 4000 2xx"],
}
OPTIONS = {"--quick": "without wrk and h2load"}


def http_client(port):
    """Python's http.client, all on one connection."""
    connection = api.connect(port)
    id = api.post(connection, TEXT)
    socket = connection.sock
    for _ in range(50):
        expect(api.fetch(connection, id), TEXT)
    for kind in ("a chunked upload", "leave to go on"):
        connection.putrequest("POST", "/api/notifications")
        connection.putheader("Authorization", api.CREDENTIALS)
        body = json.dumps(kind).encode()
        if kind == "a chunked upload":
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders([body[:3], body[3:]], encode_chunked=True)
        else:
            connection.putheader("Expect", "100-continue")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            expect(connection.sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.send(body)
        response = connection.getresponse()
        expect(response.status, 200)
        expect(api.fetch(connection, json.loads(response.read())["Id"]), kind)
    expect(connection.sock is socket, True)
    connection.close()


def curl(port):
    """curl, with several requests on one connection."""
    site = f"http://127.0.0.1:{port}"
    common = ["curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--user", f"alice:{api.PASSWORD}"]

    def ask(*arguments):
        return processes.run(*common, *arguments)

    for options in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], ["--http1.0"]):
        id = json.loads(ask(*options, "--data", json.dumps(TEXT), f"{site}/api/notifications"))["Id"]
        # --http2 in clear requests an upgrade, which a server may ignore (RFC 9110 section 7.8).
        for version in ("--http1.0", "--http1.1", "--http2"):
            counts = "\n%{num_connects}\n"
            lines = ask(version, "--write-out", counts, *[f"{site}/api/notifications/{id}"] * 3).splitlines()
            expect([json.loads(line)["Payload"] for line in lines[::2]], [TEXT] * 3)
            expect(lines[1::2], ["1", "0", "0"] if version != "--http1.0" else lines[1::2])


def load(port, path):
    """Eight connections at full speed."""
    for command, forms in LOADS.items():
        output = processes.run(*command, "-H", f"Authorization: {api.CREDENTIALS}", f"http://127.0.0.1:{port}{path}")
        require(all(re.search(form, output) for form in forms) and not re.search("Non-2xx|Socket errors", output), output)


def expect(found, wanted):
    require(found == wanted, f"expected {wanted!r}, found {found!r}")


def run(options):
    with rig.Rig(options.sealpost) as site:
        daemon, _ = site.serve()
        path = f"/api/notifications/{site.post(TEXT)}"
        http_client(site.port)
        curl(site.port)
        if not options.quick:
            load(site.port, path)
        code, rest = processes.terminate(daemon)
        expect((code, [line for line in rest.splitlines() if "level=info" not in line]), (0, []))
    print("no request failed:", "http.client, curl" + ("" if options.quick else ", wrk, h2load"))
