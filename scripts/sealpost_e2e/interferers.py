"""Harmful proxies, as `Interferer+all.swift` has them, and a chain of them behind one port with TLS.

The clients for Android and for browsers are tested against this table, the Swift client against its own. `ProxyTableTests`
compares the two with the output of `python3 -m sealpost_e2e.interferers`.

A finding is the result that a client must report for a call: `TRUTH`, all is well; a set, one of these interferences; `BELIEF`,
the answer is wrong, and only a signature can show it. `OFFLINE` stands among the interferences: there was no answer.
"""

import json
import random
import shutil
import typing

from sealpost_e2e import processes
from sealpost_e2e.rig import ROOT

CALLS = ("notification", "sync", "markRead", "markAllRead", "register")
FETCHES = ("notification", "sync")
TRUTH, BELIEF, OFFLINE = "truth", "belief", "offline"
# Only the client ends these answers, also on a slow machine within `PATIENCE` times its deadline.
ENDLESS = "silence stall drip interim flood".split()
PATIENCE = 10
LONG = "secret " + random.Random(1).randbytes(16_000).hex()  # Longer than the buffers of a proxy, and incompressible.


class Interferer(typing.NamedTuple):
    """Files in `scripts/proxies`, beginning at the client, and the finding of each call."""

    files: tuple
    how: str
    # Takes the call, and whether a key is pinned.
    finding: typing.Callable
    is_cache: bool = False
    needs_no_daemon: bool = False
    payload: str = "a secret text"

    @property
    def deadline(self):
        """The seconds of a client's deadline, if the answer has no end."""
        return 2 if self.how in ENDLESS else None

    @property
    def name(self):
        return " before ".join(self.files) + (f" {self.how}" if self.how else "")


def always(*kinds):
    return lambda call, signed: set(kinds)


def seen(signed_kind, *unsigned_kinds):
    return lambda call, signed: {signed_kind} if signed else set(unsigned_kinds)


def with_text(call):
    return call not in ("markAllRead", "register")


def rewritten(call, signed):
    return TRUTH if not with_text(call) else {"signature"} if signed else BELIEF


def unsigned(call, signed):
    return {"signature"} if signed else TRUTH


def cached(call, signed):
    return {"wrongEcho"} if call in FETCHES else TRUTH


CACHES = [
    # The only one that also caches answers to POST.
    Interferer(("nginx-cache.conf",), "", lambda call, _: TRUTH if call == "markRead" else {"wrongEcho"}, is_cache=True),
    Interferer(("varnish-cache.vcl",), "", cached, is_cache=True),
    Interferer(("haproxy-cache.cfg",), "", cached, is_cache=True),
    # Squid caches answers to requests with credentials only if they are declared public.
    Interferer(("squid-cache.conf", "nginx-public.conf"), "", cached, is_cache=True),
    Interferer(("varnish-stale.vcl",), "", lambda call, _: {"wrongEcho" if call in FETCHES else "missingEcho"}, True, needs_no_daemon=True),
]
MEDDLERS = [
    Interferer(("nginx-rewrite.conf",), "", rewritten),
    Interferer(("haproxy-meddle.cfg",), "rewrite", rewritten),
    # An extra member that no client reads is harmless, but changes the signed content.
    Interferer(("haproxy-meddle.cfg",), "inject", lambda call, signed: {"signature"} if signed and call != "register" else TRUTH),
    Interferer(("haproxy-meddle.cfg",), "cut", always("truncated")),
    Interferer(("nginx-chunk.conf", "haproxy-meddle.cfg"), "cut", always("truncated")),
    # The client cannot detect the early end itself, only the missing content.
    Interferer(("nginx-unsized.conf", "haproxy-meddle.cfg"), "cut", seen("signature", "notJSON", "unexpectedBody")),
    Interferer(("haproxy-meddle.cfg",), "shorten", seen("signature", "notJSON")),
    Interferer(("haproxy-meddle.cfg",), "empty", seen("signature", "unexpectedBody")),
    Interferer(("nginx-spool.conf",), "", lambda call, _: {"truncated"} if with_text(call) else TRUTH, payload=LONG),
    Interferer(("haproxy-strip.cfg",), "^mytoken$", always("missingEcho")),
    Interferer(("haproxy-strip.cfg",), "^signature$", unsigned),
    Interferer(("haproxy-strip.cfg",), "^signature-input$", unsigned),
    Interferer(("haproxy-strip.cfg",), "^content-digest$", unsigned),
    Interferer(("haproxy-detour.cfg",), "", lambda call, signed: {"signature" if signed else "unexpectedBody"} if call in FETCHES else TRUTH),
]
PORTALS = [
    Interferer(("nginx-portal.conf",), "", always("missingEcho")),
    Interferer(("nginx-redirect.conf",), "", always("redirect")),
    Interferer(("haproxy-refuse.cfg",), "401", always("missingEcho")),
    Interferer(("haproxy-refuse.cfg",), "500", always("missingEcho")),
    Interferer(("haproxy-unchanged.cfg",), "", always("missingEcho")),
    # The proxy knows the rule of MyToken, which is public.
    Interferer(("haproxy-inventor.cfg",), "", lambda call, signed: {"signature"} if signed else BELIEF),
]
HARMLESS = [
    Interferer(("haproxy-upper.cfg",), "", lambda call, signed: TRUTH),
    Interferer(("haproxy-strip.cfg",), "^etag$", lambda call, signed: TRUTH),
    Interferer(("nginx-gzip.conf",), "", lambda call, signed: TRUTH),
]
WIRES = [
    Interferer(("wire-answers.py",), how, finding)
    for finding, hows in (
        (lambda call, signed: TRUTH, "1.0 unframed length-twice chunks bytes extensions shuffled blanks fields pieces foreign"),
        (unsigned, "digest-twice signature-twice input-twice zeros key components label created nonce no-nonce algorithm account 206 299"),
        (lambda call, signed: {"insufficientCoverage"} if signed else TRUTH, "fewer"),
        (seen("signature", "unexpectedBody"), "404"),
        (seen("signature", "notJSON"), "script"),
        (always("truncated"), "longer gzip-label"),
        (always("oversized"), "bomb"),
        (always("wrongEcho"), "echo-twice echo-zero echo-number echo-other"),
        (always("missingEcho"), " ".join(f"page-{status}" for status in (403, 404, 410, 421, 429, 502, 503, 504, 511))),
        (always("redirect"), " ".join(f"redirect-{status}" for status in (300, 301, 303, 307, 308))),
        (always(OFFLINE), " ".join(["hang-up reset head garbage switch lengths-longer lengths-shorter", *ENDLESS])),
    )
    for how in hows.split()
]
ALL = CACHES + MEDDLERS + PORTALS + HARMLESS + WIRES


class Chain:
    """A chain of proxies at one port, as a phone moves from network to network."""

    def __init__(self, site):
        self.site = site
        self.port = processes.free_port()
        self.running = []

    def replace(self, files, how="", upstream=None):
        """Replaces the chain; the last proxy asks the daemon, or `upstream`. `haproxy` does no harm."""
        self.stop()
        for number, file in reversed(list(enumerate(files))):
            port = self.port if number == 0 else processes.free_port()
            folder = self.site.folder / f"layer-{number}"
            # The cache of a proxy ends with it.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            kind = file.split("-")[0]
            own = [] if file == kind else [ROOT / "scripts/proxies" / file]
            process = self.site.proxy(kind, port, upstream, folder, own, how)
            processes.drain(process)
            self.running.append(process)
            upstream = port

    def stop(self):
        for process in reversed(self.running):
            processes.end(process)
        self.running = []


def table():
    """Each chain's name and findings, with a pinned key and without, for the comparison."""
    return {
        interferer.name: {
            f"{call} {trust}": finding if isinstance(finding := interferer.finding(call, trust == "signatures"), str) else sorted(finding)
            for call in CALLS
            for trust in ("signatures", "echo")
        }
        for interferer in ALL
    }


if __name__ == "__main__":
    print(json.dumps(table()))
