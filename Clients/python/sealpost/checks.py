"""The checks, listed in docs/evidence/vectors/README.md, that an answer is the server's own answer to a request."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from typing import Any, Iterable, Optional

from .errors import Interference, Unreachable
from .transport import Answer
from .values import text_list

GREATEST_TOKEN = 126_322_567
COMPONENTS = '("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "sealpost-account")'
PARAMETERS = re.compile(r';created=([0-9]{1,15});keyid="([-A-Za-z0-9_]{43})"(?:;alg="ed25519")?')


@dataclasses.dataclass(frozen=True)
class Request:
    """The parts of a request that an answer is checked against. `query` has its question mark, or is empty."""

    method: str
    path: str
    query: str
    token: int


def check(request: Request, answer: Answer, account: Optional[str], verifier: Optional[Verifier], now: float) -> Optional[str]:
    """Returns the account of the answer, or the known account.

    Raises `Interference` if the answer is not the server's own, and `Unreachable` if it is not complete.
    """
    def interference(verdict: str) -> Interference:
        return Interference(verdict, answer.status, answer.retry_after)

    if 300 <= answer.status < 400:
        raise interference("redirect")
    echo = answer.field("mytoken")
    if echo != str(request.token * 17 + 3):
        raise interference("wrongEcho" if echo else "missingEcho")
    if not answer.is_complete:
        raise Unreachable(f"the answer with status {answer.status} was cut off")
    if verifier and (verdict := verifier.verdict(request, answer, now)):
        raise interference(verdict)
    found = answer.field("sealpost-account")
    if found == "none":
        if answer.status < 400 or answer.status in (403, 404, 409, 410, 412):
            raise interference("wrongAccount")
    elif found and found != (account or found):
        raise interference("wrongAccount")
    else:
        account = found or account
    return account


class Verifier:
    """Verifies signed answers (RFC 9421, Ed25519) with the package `cryptography`.

    `keys` are the values `x` of `/.well-known/sealpost-keys`, which you have got in a trusted way.
    """

    TOLERANCE = 300

    def __init__(self, keys: Iterable[str]):
        keys = text_list("signing_keys", keys)
        if not keys:
            raise ValueError("signing_keys: there is no key to verify answers with")
        if not all(re.fullmatch("[-A-Za-z0-9_]{43}", key) for key in keys):
            raise ValueError("signing_keys: a signing key is 32 bytes in base64url without padding")
        # The import is here because only clients with pinned keys need the package.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self._keys = {thumbprint(key): Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key + "=")) for key in keys}

    @property
    def accept_signature(self) -> str:
        """The field `Accept-Signature` of a request."""
        return f'sig={COMPONENTS};keyid="{next(iter(self._keys))}"'

    def verdict(self, request: Request, answer: Answer, now: float) -> Optional[str]:
        """None if a pinned key has signed exactly this answer to this request, else the kind of the interference."""
        from cryptography.exceptions import InvalidSignature

        label = f"sig={COMPONENTS}"
        given = answer.field("signature-input")
        parameters = PARAMETERS.fullmatch(given, len(label))
        digest = answer.field("content-digest")
        signature = re.fullmatch("sig=:([A-Za-z0-9+/]{86}==):", answer.field("signature"))
        if not given.startswith(label) or not parameters or not signature or digest != content_digest(answer.body):
            return "signature"
        values = (answer.status, digest, request.token, request.method, request.path, request.query or "?", answer.field("sealpost-account"))
        base = "".join(f"{name}: {value}\n" for name, value in zip(COMPONENTS[1:-1].split(" "), values))
        base += f'"@signature-params": {given[len("sig="):]}'
        key: Any = self._keys.get(parameters[2])
        try:
            if key is None:
                return "signature"
            key.verify(base64.b64decode(signature[1]), base.encode())
        except InvalidSignature:
            return "signature"
        return "wrongClock" if abs(now - int(parameters[1])) > self.TOLERANCE else None


def thumbprint(key: str) -> str:
    """The identifier of a public key (RFC 7638)."""
    digest = hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{key}"}}'.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def content_digest(body: bytes) -> str:
    """The field `Content-Digest` of a body (RFC 9530)."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
