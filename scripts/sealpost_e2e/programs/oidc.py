"""Tests sign-in with tokens of an issuer: forged tokens, key changes under load, an issuer that is down.

The issuer is an HTTPS server with OpenID Connect's configuration and a key set. joserfc makes its keys and tokens; it shares no
code with the server. The server must refuse each forged signature. Then clients with new tokens must never fail while keys
change, strangers invent keys, and the issuer is down for a while.
"""

from sealpost_e2e import environment, require

environment.enter()

import contextlib
import functools
import hashlib
import hmac
import http.client
import itertools
import json
import os
import time
import warnings

from joserfc import jws, jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from sealpost_e2e import api, crew, processes, receiver, rig, tls

AUDIENCE = "sealpost"
# The id, kind and form of the key of each algorithm.
KEYS = {
    "RS256": ("rsa", RSAKey, 2048), "RS384": ("rsa384", RSAKey, 2048), "RS512": ("rsa512", RSAKey, 2048), "PS256": ("pss", RSAKey, 2048),
    "PS384": ("pss384", RSAKey, 2048), "PS512": ("pss512", RSAKey, 2048), "ES256": ("ec", ECKey, "P-256"),
    "ES384": ("ec384", ECKey, "P-384"), "ES512": ("ec521", ECKey, "P-521"), "EdDSA": ("ed", OKPKey, "Ed25519"),
}
PAUSE = 5  # Seconds between two readings of the keys, as the server has them.
CLIENTS = 6
addresses = itertools.count(1)
# RFC 9864 has a new name for EdDSA, which issuers hardly use yet.
warnings.filterwarnings("ignore", message="EdDSA is deprecated")
OPTIONS = {"--count": (8, "changes of the key")}


class Issuer:
    """The issuer: its keys by their algorithms, and its published keys."""

    def __init__(self, folder):
        certificate, key = tls.make_certificate(folder)
        self.certificate, self.is_down, self.readings = certificate, False, 0
        self.keys = {
            algorithm: kind.generate_key(form, {"kid": kid, "use": "sig", "alg": algorithm}) for algorithm, (kid, kind, form) in KEYS.items()
        }
        # Published, and skipped: neither verifies tokens.
        self.others = [OKPKey.generate_key("X25519", {"kid": "x25519"}), RSAKey.generate_key(2048, {"kid": "enc", "use": "enc"})]
        self.published = [*self.keys.values(), *self.others]
        self.receiver = receiver.Receiver(certificate, key, self.answer)
        self.name = f"https://localhost:{self.receiver.port}/realm"

    def answer(self, request, _):
        path = request.split(b" ")[1].decode()
        if self.is_down:
            return reply({}, "503 Service Unavailable")
        if path == "/realm/.well-known/openid-configuration":
            return reply({"issuer": self.name, "jwks_uri": self.name + "/keys"})
        if path == "/realm/keys":
            self.readings += 1
            return reply({"keys": [key.as_dict(private=False) for key in self.published]})
        return reply({}, "404 Not Found")

    def renew(self, kid):
        """Replaces the key for ES256 without notice. The server has not read the new one yet."""
        self.keys["ES256"] = ECKey.generate_key("P-256", {"kid": kid, "use": "sig", "alg": "ES256"})
        return self.keys["ES256"]

    def claims(self, **changes):
        now = int(time.time())
        return {"iss": self.name, "aud": AUDIENCE, "sub": "carol", "iat": now, "exp": now + 300, "jti": os.urandom(8).hex()} | changes

    def token(self, algorithm="ES256", key=None, **claims):
        key = key or self.keys[algorithm]
        header = {"alg": algorithm, "kid": key.kid, "typ": "JWT"}
        return jwt.encode(header, self.claims(**claims), key, algorithms=list(self.keys))


def reply(body, status="200 OK"):
    text = json.dumps(body)
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nCache-Control: max-age=3600\r\nContent-Length: {len(text)}"
    return f"{head}\r\n\r\n{text}".encode()


def b64(data):
    data = data if isinstance(data, bytes) else json.dumps(data, separators=(",", ":")).encode()
    return api.base64url(data)


def signed(header, claims, key, algorithm="ES256"):
    """A token of exactly these bytes, signed by joserfc's algorithm, whatever its header says."""
    message = f"{b64(header)}.{b64(claims)}".encode()
    signature = jws.JWSRegistry.algorithms[algorithm].sign(message, key)
    return message.decode() + "." + b64(signature)


def with_hmac(header, claims, secret):
    message = f"{b64(header)}.{b64(claims)}".encode()
    return message.decode() + "." + b64(hmac.digest(secret, message, hashlib.sha256))


def forged(issuer):
    """Name, token and a word of the answer. `IssuerTokenTests` tests wrong headers (such as none, HS256) and claims."""
    claims, token, keys = issuer.claims, issuer.token, issuer.keys
    ec = keys["ES256"]
    ec_header = {"alg": "ES256", "kid": "ec", "typ": "JWT"}
    head, body, _ = token().split(".")
    stranger = ECKey.generate_key("P-256", {"kid": "ec"})
    pem = keys["RS256"].as_pem(private=False)
    return [
        ("another key under the same kid", token(key=stranger), "signature"),
        ("another RSA key", token("RS256", key=RSAKey.generate_key(2048, {"kid": "rsa"})), "signature"),
        ("HMAC behind RS256", with_hmac({"alg": "RS256", "kid": "rsa"}, claims(), pem), "signature"),
        ("PS256 by the key for RS256", signed({"alg": "PS256", "kid": "rsa"}, claims(), keys["RS256"], "PS256"), "no such key"),
        ("PS256 said, RS256 signed", signed({"alg": "PS256", "kid": "pss"}, claims(), keys["PS256"], "RS256"), "signature"),
        ("ES384 by the key for ES256", signed({"alg": "ES384", "kid": "ec"}, claims(), keys["ES384"], "ES384"), "no such key"),
        ("ES512 said, ES384 signed", signed({"alg": "ES512", "kid": "ec521"}, claims(), keys["ES384"], "ES384"), "signature"),
        ("RS512 said, RS256 signed", signed({"alg": "RS512", "kid": "rsa512"}, claims(), keys["RS512"], "RS256"), "signature"),
        ("a token in a token", signed(ec_header, json.dumps(token()).encode(), ec), "object"),
        ("encrypted", ".".join([b64({"alg": "dir", "enc": "A256GCM"}), "", "AAAA", "AAAA", "AAAA"]), "encrypted"),
        ("a deep claim", signed(ec_header, claims(x=json.loads("[" * 40 + "]" * 40)), ec), "levels"),
        ("claims that are a list", signed(ec_header, b"[]", ec), "object"),
        ("claims that are no JSON", signed(ec_header, b"{", ec), "JSON"),
        ("claims that are no UTF-8", signed(ec_header, b'{"sub":"\xff"}', ec), "JSON"),
        ("the other alphabet", f"{head}.{body}.++++", "base64url"),
        ("DER in place of the 64 bytes", f"{head}.{body}.{b64(bytes.fromhex('3006020101020101'))}", "signature"),
        ("a signature of zeros", f"{head}.{body}.{b64(bytes(64))}", "signature"),
    ]


def show(port, token):
    """Shows a token from a new address, as the server counts guesses. Returns status, code and detail."""
    number = next(addresses)
    source = f"127.1.{number // 250 % 250}.{number % 250 + 1}"
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))) as connection:
        status, fields, body = api.exchange(connection, "GET", "/api/sessions/current", None, {"Authorization": f"Bearer {token}"})
    require(status != 503 or "Retry-After" in fields, "503 without Retry-After")
    answer = json.loads(body or b"{}")
    return status, answer.get("type", "").rpartition(":")[2], answer.get("detail", "")


def refuse_all(site, issuer):
    for algorithm in issuer.keys:
        token = issuer.token(algorithm)
        require((answer := show(site.port, token))[0] == 200, f"a right token of {algorithm}: {answer}")
    rows = forged(issuer)
    # A token with an unknown key waits until the server has read the keys.
    answers = crew.together(lambda row: show(site.port, row[1]), rows, threads=16)
    faults = [
        f"{name}: {status} {code} {detail}" for (name, _, word), (status, code, detail) in zip(rows, answers)
        if (status, code) != (401, "invalid-token") or word not in detail
    ]
    print(f"{len(rows)} forged tokens refused")
    require(not faults, "\n".join(faults))


class Load(crew.Crew):
    """Clients with their own users; each shows a token three times and then a new one."""

    def __init__(self, port, issuer):
        self.port, self.issuer = port, issuer
        self.answered, self.tokens, self.longest, self.failures, self.invented = 0, 0, 0.0, [], {}
        super().__init__(*(functools.partial(self.run, number) for number in range(CLIENTS)), self.invent)

    def run(self, number):
        connection = api.connect(self.port)
        while not self.ends.is_set():
            token = self.issuer.token(sub=f"client{number}")
            for _ in range(3):
                begin = time.monotonic()
                try:
                    api.ask(connection, "GET", "/api/notifications", credentials=f"Bearer {token}", expected=(200,))
                    with self.lock:
                        self.answered += 1
                        self.longest = max(self.longest, time.monotonic() - begin)
                except (OSError, http.client.HTTPException) as error:
                    with self.lock:
                        self.failures.append(f"{time.strftime('%T')} client{number}: {error!r}")
                    connection.close()
            with self.lock:
                self.tokens += 1
            time.sleep(0.02)
        connection.close()

    def invent(self):
        """A stranger with keys of its own."""
        key = ECKey.generate_key("P-256")
        while not self.ends.is_set():
            status, _, _ = show(self.port, signed({"alg": "ES256", "kid": os.urandom(8).hex()}, self.issuer.claims(), key))
            self.invented[status] = self.invented.get(status, 0) + 1  # 503 while the issuer is down, as the key may be a new one.


def rotate(site, issuer, count):
    """Replaces the key without notice; the old one stays for a turn, as its tokens are still valid."""
    load = Load(site.port, issuer)
    begin, readings = time.monotonic(), issuer.readings
    try:
        for number in range(count):
            old = issuer.keys["ES256"]
            issuer.published = [issuer.renew(f"turn{number}"), old, issuer.keys["EdDSA"]]
            time.sleep(PAUSE * 2.5)
        seconds, readings = time.monotonic() - begin, issuer.readings - readings
        # The issuer is down for a while; known keys stay valid.
        issuer.is_down = True
        answered = load.answered
        time.sleep(PAUSE * 3)
        during = load.answered - answered
    finally:
        load.stop()
    print(
        f"{count} changes of the key in {seconds:.0f} s: {len(load.failures)} of {load.answered} requests failed, of {load.tokens} "
        f"tokens, the longest wait {load.longest:.1f} s; {readings} readings at the issuer; {during} answers while it was down; "
        f"invented keys: {load.invented}"
    )
    if load.failures or not during or not set(load.invented) <= {401, 429, 503} or readings > seconds / PAUSE + 2:
        raise SystemExit("\n".join(load.failures[:20]) or "too many readings, too few answers, or an invented key is taken")
    issuer.published = [*issuer.published, issuer.renew("fresh")]
    expect("a new key while the issuer is down", show(site.port, issuer.token()), 503, "issuer-unavailable")
    issuer.is_down = False
    expect("the new key when it is back", show(site.port, issuer.token()), 200)


def expect(what, answer, status, code=""):
    print(f"{what}: {answer[0]} {answer[1]}".rstrip())
    require(answer[:2] == (status, code), f"expected {status} {code}: {answer}")


def run(options):
    with rig.Rig(options.sealpost, role="admin") as site:
        issuer = Issuer(site.folder)
        site.environment |= {
            "SEALPOST_SIGNIN_OIDC_ISSUER": issuer.name, "SEALPOST_SIGNIN_OIDC_AUDIENCE": AUDIENCE,
            "SEALPOST_SIGNIN_OIDC_USERS": "created", "SEALPOST_SIGNIN_OIDC_CAFILE": str(issuer.certificate),
        }
        daemon, _ = site.serve()
        processes.drain(daemon)
        expect("the first token", show(site.port, issuer.token()), 200)
        refuse_all(site, issuer)
        rotate(site, issuer, options.count)
        daemon.terminate()
        require(not (code := daemon.wait(60)), f"the daemon ended with {code}")
        issuer.is_down = True
        daemon, _ = site.serve()
        processes.drain(daemon)
        expect("a start while the issuer is down", show(site.port, issuer.token()), 503, "issuer-unavailable")
        api.ask(site.connect(), "GET", "/readyz")
        issuer.is_down = False
        expect("and when it is back", show(site.port, issuer.token()), 200)
