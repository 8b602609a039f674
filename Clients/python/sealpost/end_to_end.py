"""End-to-end encryption, as docs/end-to-end.md describes it. It needs the package `cryptography`.

The server cannot read what this module encrypts. It can lie about the keys of a user's devices, so
`Pins` compares them with what this backend has seen, and with the approvals of the user's devices.
"""

from __future__ import annotations

import base64
import collections.abc
import functools
import hashlib
import hmac
import math
import numbers
import re
import secrets
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import SealpostError, Unreachable
from .values import Notification, encoded, end_of, fits, idempotency_key, members_of, must_be, named_user, positive, text_list

MAXIMUM_DEVICES = 1000
# The maximum number of levels of nesting of a payload. It is the server's limit, so that all
# clients can read a payload.
MAXIMUM_LEVELS = 62
# The maximum number of bytes of a payload's JSON text. Encrypted for one device, a longer text
# exceeds the server's default `notifications.maxPayload`, since the next size class does.
MAXIMUM_PAYLOAD = 45_055
# How long senders reuse the HPKE context of a device, in seconds: a new context costs a key
# agreement. After half of this time, each payload renews up to `EARLY_RENEWALS` contexts, so that
# no payload must renew all of them.
CONTEXT_LIFETIME, EARLY_RENEWALS = 3600, 20
# The longest accepted age and clock skew of a payload, in seconds. A payload can be scheduled 30
# days ahead, and the server then stores it for 30 days: an older payload is a replay.
LONGEST_LIFE, CLOCK_SKEW = 61 * 86_400, 86_400

_PAYLOAD, _KEY = "sealpost-e2e.1.1", "sealpost-key.1"
_ID, _POINT, _SIGNATURE, _ENTRY = 22, 87, 86, 152  # Characters.
_NONCE = bytes(12)  # All zeros, since each key encrypts only one text.
_CURVE = ec.SECP256R1()


class Unreadable(ValueError):
    """Raised for a text that is not a valid end-to-end payload or device key, or a payload that is not for this reader.

    docs/end-to-end.md lists the values of `reason`, such as `notForThisDevice`.
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class SenderKey:
    """A backend's key pair. Devices know its public key from the app, never from the server."""

    def __init__(self, private: ec.EllipticCurvePrivateKey):
        if not isinstance(private.curve, ec.SECP256R1):
            raise ValueError("a sender's key is one of the curve P-256")
        self._private = private
        self.public = _point(private.public_key())
        self.id = _id(self.public)

    @classmethod
    def generate(cls) -> SenderKey:
        return cls(ec.generate_private_key(_CURVE))

    @classmethod
    def read(cls, pem: bytes, password: Optional[bytes] = None) -> SenderKey:
        key = serialization.load_pem_private_key(pem, password)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("a sender's key is one of the curve P-256")
        return cls(key)

    def pem(self) -> bytes:
        """The private key as a PEM text. Protect it like the token, and never store it on the server."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption(),
        )

    @property
    def text(self) -> str:
        """The public key for the app, 87 characters of base64url."""
        return _text(self.public)


class DeviceKey:
    """The public keys of one device, with its own signature and the signatures of devices that have approved it.

    Raises `Unreadable` if the text has another form or its own signature is wrong.
    """

    def __init__(self, text: str):
        parts = text.split(".") if len(text) <= 2048 and text.isascii() else []
        if len(parts) != 8 or f"{parts[0]}.{parts[1]}" != _KEY or len(parts[2]) != _ID or not _is_time(parts[5]):
            raise Unreadable("malformed")
        self.body, self.account = ".".join(parts[:6]), parts[2]
        self.signing, self.agreement = _bytes(parts[3], _POINT), _bytes(parts[4], _POINT)
        if len(parts[7]) % (_ID + _SIGNATURE):
            raise Unreadable("malformed")
        _public(self.signing)
        self.public = _public(self.agreement)
        self.id = _id(self.body.encode())
        entries = [parts[7][at:at + _ID + _SIGNATURE] for at in range(0, len(parts[7]), _ID + _SIGNATURE)]
        self._approvals = {entry[:_ID]: entry[_ID:] for entry in entries}
        if not _verifies(self.signing, "own", self.body, parts[6]):
            raise Unreadable("signature")

    @property
    def fingerprint(self) -> str:
        """A digest of the keys in 30 digits, which people can compare on two screens."""
        digest = hashlib.sha256(b"sealpost-fingerprint\n" + self.body.encode()).digest()
        numbers = (int.from_bytes(digest[at:at + 5], "big") % 100_000 for at in range(0, 30, 5))
        return " ".join(f"{number:05d}" for number in numbers)

    def is_approved(self, by: str, signing: bytes) -> bool:
        """Whether the device with that id and verification key has signed these keys."""
        return by != self.id and by in self._approvals and _verifies(signing, "approve", self.body, self._approvals[by])


# The verification of a key costs as much as two key agreements.
_read_key = functools.lru_cache(10 * MAXIMUM_DEVICES)(DeviceKey)


class DeviceRecipient(NamedTuple):
    """A device of a user, for which a payload is encrypted."""

    user: str
    key: DeviceKey


class KeyChange(NamedTuple):
    """A difference between the server's list of keys and the pins: docs/end-to-end.md has the kinds.

    `key` is None for `account` and `skipped`.
    """

    user: str
    kind: str
    key: Optional[str] = None
    fingerprint: Optional[str] = None


# The default is not None, since a lost file can be read as None: the first contact would be new.
_NO_VALUES: Dict[str, Any] = {}


class Pins:
    """The device keys that this backend has seen.

    Store `values`, which is JSON, after each call that has reported changes, and after `trust`, `distrust`
    and `forget`. With `trusts_first_contact=False` nothing is encrypted for a new user before `trust`.
    """

    def __init__(self, values: Dict[str, Any] = _NO_VALUES, *, trusts_first_contact: bool = True):
        must_be(dict, values=values)
        must_be(bool, trusts_first_contact=trusts_first_contact)
        for user, pin in values.items():
            if not _is_pin(pin):
                raise ValueError(f"the pins of {user!r} are damaged: values must be those that Pins.values had")
        self.values: Dict[str, Any] = {} if values is _NO_VALUES else values
        self._trusts_first_contact = trusts_first_contact

    def trust(self, user: str, key: DeviceKey) -> None:
        """Accepts a device after somebody has compared its fingerprint."""
        must_be(str, user=user)
        must_be(DeviceKey, key=key)
        pin = self.values.setdefault(user.lower(), {"account": key.account, "keys": {}})
        if pin["account"] != key.account:
            raise ValueError(f"the key is of another account than {user}'s; forget the user first")
        pin["keys"][key.id] = {"signing": _text(key.signing), "state": "trusted"}

    def distrust(self, user: str, key: str) -> None:
        """Ends the encryption for a device, such as a lost phone, even if the server lists it.

        `key` is the id of its key, as in a change, also of a device that these pins have not seen. Raises
        `ValueError` for a user without pins.
        """
        must_be(str, user=user, key=key)
        pin = self.values.get(user.lower())
        if pin is None or not re.fullmatch("[-A-Za-z0-9_]{21}[AQgw]", key):
            raise ValueError(f"{user} has no pins, or {key} is no id of a key; `key` is the id in a change")
        # Pins need a verification key: that of an unseen device is a key that nobody has.
        pin["keys"].setdefault(key, {"signing": SenderKey.generate().text})["state"] = "distrusted"

    def forget(self, user: str) -> None:
        """Forgets a user, for example one who was deleted and created again."""
        must_be(str, user=user)
        self.values.pop(user.lower(), None)

    def check(self, user: str, account: str, texts: Iterable[str]) -> Tuple[List[DeviceRecipient], List[KeyChange]]:
        """The devices of a user that may be trusted, and the changes since the last check.

        A key is trusted if it was trusted before, or if a trusted device has approved it. At the first
        contact the oldest key that nobody has approved is trusted, too.
        """
        changes: List[KeyChange] = []
        return self._check(user, account, texts, changes, math.inf), changes

    def _check(
        self, user: str, account: str, texts: Iterable[str], changes: List[KeyChange], end: float,
    ) -> List[DeviceRecipient]:
        """Checks as `check` does, and adds the changes to the list.

        If this raises `Unreachable` at `end`, the list has the changes until then.
        """
        must_be(str, user=user, account=account)
        keys = []
        for text in text_list("texts", texts):
            _left(end)
            try:
                key = _read_key(text)
                if key.account != account:
                    raise Unreadable("account")
                keys.append(key)
            except Unreadable:
                changes.append(KeyChange(user, "invalid"))
        keys = list({key.id: key for key in keys}.values())
        pin = self.values.get(user.lower())
        if pin is None:
            pin = {"account": account, "keys": {}}
            first = min((key for key in keys if not key._approvals), key=lambda key: (_time(key), key.id), default=None)
            if first and self._trusts_first_contact:
                self.values[user.lower()] = pin
                pin["keys"][first.id] = {"signing": _text(first.signing), "state": "trusted"}
                changes.append(KeyChange(user, "first", first.id, first.fingerprint))
        elif pin["account"] != account:
            changes.append(KeyChange(user, "account"))
            return []
        known = pin["keys"]
        new = [key for key in keys if key.id not in known]
        # Most lists have no new key.
        approving = known.items() if new else []
        trusted = {id: _bytes(value["signing"], _POINT) for id, value in approving if value["state"] == "trusted"}
        # A device that was approved in this loop may have approved further devices.
        while added := [key for key in new if _left(end) and any(key.is_approved(by, signing) for by, signing in trusted.items())]:
            for key in added:
                trusted[key.id] = key.signing
                known[key.id] = {"signing": _text(key.signing), "state": "trusted"}
                changes.append(KeyChange(user, "added", key.id, key.fingerprint))
            new = [key for key in new if key.id not in known]
        changes += [KeyChange(user, "unapproved", key.id, key.fingerprint) for key in new]
        listed = {key.id for key in keys}
        for id, value in known.items():
            if id not in listed and value["state"] == "trusted":
                value["state"] = "missing"
                changes.append(KeyChange(user, "missing", id))
        for key in keys:
            # A device that returns approves no other device of this list: otherwise a stolen
            # device could add devices in this way.
            if key.id in known and known[key.id]["state"] == "missing":
                known[key.id]["state"] = "trusted"
                changes.append(KeyChange(user, "returned", key.id, key.fingerprint))
        return [DeviceRecipient(user, key) for key in keys if known.get(key.id, {}).get("state") == "trusted"]

    def _is_distrusted(self, recipient: DeviceRecipient) -> bool:
        known = self.values.get(recipient.user.lower(), {"keys": {}})["keys"]
        return known.get(recipient.key.id, {}).get("state") == "distrusted"

    def _undo(self, changes: Iterable[KeyChange]) -> None:
        """Removes the changes of checks, so that the next check finds them again.

        Newer changes of other calls remain.
        """
        for user, kind, key, _ in reversed(list(changes)):
            known = self.values.get(user.lower(), {"keys": {}})["keys"]
            state = known.get(key, {}).get("state")
            if kind == "missing" and state == "missing":
                known[key]["state"] = "trusted"
            elif kind == "returned" and state == "trusted":
                known[key]["state"] = "missing"
            elif kind in ("first", "added") and state == "trusted":
                del known[key]
            if kind == "first" and not known:
                self.forget(user)


class NoTrustedDevice(SealpostError):
    """Raised if no device of the recipients is trusted; nothing was sent. `changes` say why."""

    def __init__(self, changes: Sequence[KeyChange]):
        super().__init__(f"there is no trusted device: {', '.join(f'{change.user}: {change.kind}' for change in changes) or 'no keys'}")
        self.changes = list(changes)


class Encryption:
    """Encrypts payloads of one sender. Several threads may share an object.

    `maximum_payload` is the maximum number of bytes of a payload's JSON text. docs/end-to-end.md has its
    value for a server with another `notifications.maxPayload`.
    """

    def __init__(
        self, key: SenderKey, pins: Pins, *, changed: Callable[[List[KeyChange]], None], maximum_payload: int = MAXIMUM_PAYLOAD,
    ):
        must_be(SenderKey, key=key)
        must_be(Pins, pins=pins)
        must_be(collections.abc.Callable, changed=changed)
        must_be(int, maximum_payload=maximum_payload)
        positive("maximum_payload", maximum_payload)
        self.key, self.pins, self._changed, self._maximum_payload = key, pins, changed, maximum_payload
        self._contexts: Dict[Tuple[str, str], Tuple[float, bytes, bytes]] = {}
        # The shared secret of the sender's key and a device's key, by device.
        self._shared: Dict[str, bytes] = {}
        # Held while pins change, until the change is reported: no other thread may send before.
        self._lock = threading.RLock()

    def send(self, client: Any, notification: Any, *, key: Optional[str] = None, deadline: Optional[float] = None) -> Any:
        """Sends a notification to the trusted devices of its recipients, as `Client.send` does.

        `changed` is called with the changes of keys before anything is sent; if it raises, nothing is sent,
        and the next call reports the changes again. If it ends after the deadline, the call raises
        `Unreachable`, and nothing is sent, either.
        All attempts of the call post the same text. A repeated call encrypts again, so the server refuses the
        same `key` as `idempotency-key-reused`. To repeat a call after a restart, store the payload of
        `encrypted`, and send that with `Client.send` and the key. If you use each key for one notification
        only, you can also treat the refusal as success: an earlier call with the key was stored. The deadline is
        for the requests of the keys and the post together.
        """
        key, end = idempotency_key(key), end_of(client, deadline)
        try:
            return client.send(self._encrypted(client, notification, end), key=key, deadline=_left(end))
        except SealpostError as error:
            error.idempotency_key = key
            raise

    def prepare(self, client: Any, to: Any, *, app: str = "default", deadline: Optional[float] = None) -> None:
        """Makes the key agreements for recipients ahead.

        If you call it in a thread, at the start and then every half an hour, no payload waits for them.
        """
        end = end_of(client, deadline)
        for recipient in self._recipients(client, to, app, end):
            _left(end)
            self._context(recipient.key, app, CONTEXT_LIFETIME / 2)

    def encrypted(self, client: Any, notification: Any, *, deadline: Optional[float] = None) -> Any:
        """The notification with its payload encrypted for the trusted devices of its recipients."""
        return self._encrypted(client, notification, end_of(client, deadline))

    def _encrypted(self, client: Any, notification: Any, end: float) -> Any:
        # A subclass could replace the encrypted text, so the result is a plain notification. The
        # caller can change its own list while the call waits for the keys.
        members = members_of(notification)
        to = members["to"] if isinstance(members["to"], str) else tuple(text_list("to", members["to"] or ()))
        # The app is named, since the payload is bound to it: otherwise the server would use the
        # caller's only app, which may be another.
        app = "default" if members["app"] is None else members["app"]
        plain = self._plain(members["payload"])
        text = self._encrypt(plain, self._recipients(client, to, app, end), app, end=end)
        return Notification(**{**members, "payload": text, "app": app, "to": to})

    def _recipients(self, client: Any, to: Any, app: str, end: float) -> List[DeviceRecipient]:
        must_be(str, app=app)
        expressions = [to] if isinstance(to, str) else text_list("to", to or ())
        if not expressions:
            raise ValueError("to: name the recipients, since a payload is encrypted for their devices")
        recipients: List[DeviceRecipient] = []
        changes: List[KeyChange] = []
        lists = [(expression, client.device_keys(expression, app=app, deadline=_left(end))) for expression in expressions]
        # Another call holds the lock as long as its `changed` runs.
        if not self._lock.acquire(timeout=min(_left(end), threading.TIMEOUT_MAX)):
            raise Unreachable("`changed` of another call has not ended in time")
        try:
            for expression, users in lists:
                # The server lists no users without devices, so only those that are named can be
                # reported.
                if not users and (name := named_user(expression)) is not None:
                    changes.append(KeyChange(name, "skipped"))
                for user in users:
                    keys = [key for key in user.keys if key is not None]
                    found = self.pins._check(user.name, user.account, keys, changes, end)
                    recipients += found
                    if not found:
                        changes.append(KeyChange(user.name, "skipped"))
            if changes:
                self._changed(list(changes))
        except BaseException:
            self.pins._undo(changes)
            raise
        finally:
            self._lock.release()
        # `distrust` may have been called meanwhile, for example by `changed`.
        recipients = [recipient for recipient in recipients if not self.pins._is_distrusted(recipient)]
        if not recipients:
            raise NoTrustedDevice(changes)
        _left(end)  # `changed` may have taken all the time.
        return recipients

    def encrypt(
        self, payload: Any, recipients: Sequence[DeviceRecipient], *, app: str = "default", message: Optional[bytes] = None,
        now: Optional[float] = None,
    ) -> str:
        """Encrypts a payload for these devices.

        `message` is the id of the message: 16 bytes that you choose and never use again.
        """
        must_be(str, app=app)
        return self._encrypt(self._plain(payload), recipients, app, message, now)

    def _plain(self, payload: Any) -> bytes:
        """The JSON of a payload. Raises `ValueError` or `TypeError` for a payload that no device could get."""
        if not fits(payload, MAXIMUM_LEVELS):
            raise ValueError(f"the payload has more than {MAXIMUM_LEVELS} levels of nesting")
        plain = encoded(payload)
        if plain == b"null":
            raise ValueError("payload: give a value of JSON other than null")
        if len(plain) > self._maximum_payload:
            raise ValueError(f"the payload has {len(plain)} bytes of JSON text; an end-to-end payload has at most {self._maximum_payload}")
        return plain

    def _encrypt(
        self, plain: bytes, recipients: Sequence[DeviceRecipient], app: str, message: Optional[bytes] = None,
        now: Optional[float] = None, content: Optional[bytes] = None, end: float = math.inf,
    ) -> str:
        message, content = message or secrets.token_bytes(16), content or secrets.token_bytes(16)
        keys = {recipient.key.id: recipient.key for recipient in recipients}
        if not 1 <= len(keys) <= MAXIMUM_DEVICES:
            raise ValueError(f"an end-to-end payload is for 1 to {MAXIMUM_DEVICES} devices, not {len(keys)}: send to fewer users at once")
        if len(message) != 16:
            raise ValueError("the id of a message has 16 bytes")
        header = f"{_PAYLOAD}.{self.key.id}.{_text(message)}.{int(now or time.time())}"
        front = f"{header}.{_text(AESGCM(content).encrypt(_NONCE, padded(plain), header.encode()))}"
        digest = hashlib.sha256(front.encode()).digest()
        entries, early = [], EARLY_RENEWALS
        for id in sorted(keys):
            _left(end)
            enc, exporter, is_new = self._context(keys[id], app, CONTEXT_LIFETIME / 2 if early > 0 else CONTEXT_LIFETIME)
            early -= is_new
            wrapped = AESGCM(_export(exporter, digest, 16)).encrypt(_NONCE, content, None)
            entries.append(id + _text(enc + wrapped))
        return f"{front}.{''.join(entries)}"

    def _context(self, key: DeviceKey, app: str, lifetime: float) -> Tuple[bytes, bytes, bool]:
        name, now = (key.id, app), time.monotonic()
        found = self._contexts.get(name)
        is_old = not found or now - found[0] > lifetime
        if is_old:
            if len(self._contexts) >= 10 * MAXIMUM_DEVICES:
                self._contexts.clear()
                self._shared.clear()
            shared = self._shared.get(key.id) or self.key._private.exchange(ec.ECDH(), key.public)
            self._shared[key.id] = shared
            info = _info(key.account, app)
            ephemeral = self._ephemeral()
            dh = ephemeral.exchange(ec.ECDH(), key.public) + shared
            found = (now, *setup_sender(ephemeral, dh, key.agreement, self.key.public, info))
            self._contexts[name] = found
        return found[1], found[2], is_old

    def _ephemeral(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(_CURVE)


def open_payload(
    text: str, key: DeviceKey, private: ec.EllipticCurvePrivateKey, senders: Iterable[str], *, app: str = "default",
    now: Optional[float] = None,
) -> Tuple[str, str]:
    """Opens a payload for a device.

    Returns its JSON text, and the message's id, which the reader must compare with earlier ids.
    `senders` are the public keys that the app trusts. Raises `Unreadable`.
    """
    must_be(str, text=text, app=app)
    must_be(DeviceKey, key=key)
    must_be(ec.EllipticCurvePrivateKey, private=private)
    must_be(numbers.Real, now=0 if now is None else now)
    senders = text_list("senders", senders)
    parts = text.split(".")
    if parts[0] != "sealpost-e2e":
        raise Unreadable("notEncrypted")
    if ".".join(parts[:3]) != _PAYLOAD:
        raise Unreadable("unsupported")
    if (len(parts) != 8 or not text.isascii() or len(parts[3]) != _ID or len(parts[4]) != _ID or not _is_time(parts[5])
            or len(parts[7]) % _ENTRY):
        raise Unreadable("malformed")
    points = {_id(point): point for point in (_bytes(sender, _POINT) for sender in senders)}
    if parts[3] not in points:
        raise Unreadable("unknownSender")
    entries = (parts[7][at:at + _ENTRY] for at in range(0, len(parts[7]), _ENTRY))
    entry = next((entry for entry in entries if entry.startswith(key.id)), None)
    if entry is None:
        raise Unreadable("notForThisDevice")
    if not -CLOCK_SKEW <= (time.time() if now is None else now) - int(parts[5]) <= LONGEST_LIFE:
        raise Unreadable("expired")
    wrapped, cipher = _bytes(entry[_ID:], _ENTRY - _ID), _bytes(parts[6])
    digest = hashlib.sha256(".".join(parts[:7]).encode()).digest()
    try:
        exporter = setup_receiver(wrapped[:65], private, _public(points[parts[3]]), _info(key.account, app))
        content = AESGCM(_export(exporter, digest, 16)).decrypt(_NONCE, wrapped[65:], None)
        plain = AESGCM(content).decrypt(_NONCE, cipher, ".".join(parts[:6]).encode()).rstrip(b"\0")
    except InvalidTag:
        raise Unreadable("unreadable") from None
    if not plain.endswith(b"\x80"):
        raise Unreadable("malformed")
    return plain[:-1].decode(), parts[4]


def padded(plain: bytes) -> bytes:
    """Pads a text as ISO/IEC 7816-4 does.

    The length becomes a power of two from 256 to 4096 bytes, or, if longer, a multiple of 4096.
    """
    length = len(plain) + 1
    size = max(256, 1 << (length - 1).bit_length()) if length <= 4096 else -(-length // 4096) * 4096
    return plain + b"\x80" + bytes(size - length)


# The functions of a device. The guide's section "Devices that run Python" explains their use.

def device_key(account: str, signing: ec.EllipticCurvePrivateKey, agreement: ec.EllipticCurvePrivateKey, now: int) -> str:
    """The text of public keys that a device registers."""
    body = f"{_KEY}.{account}.{_text(_point(signing.public_key()))}.{_text(_point(agreement.public_key()))}.{now}"
    return f"{body}.{_sign(signing, 'own', body)}."


def approve(text: str, by: DeviceKey, signing: ec.EllipticCurvePrivateKey) -> str:
    """The text of a new device's keys with the approval of a device of the same account.

    Call this after a person has compared the fingerprints.
    """
    key = DeviceKey(text)
    if key.account != by.account:
        raise Unreadable("account")
    return text + by.id + _sign(signing, "approve", key.body)


# HPKE (RFC 9180), mode Auth, with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM.

_KEM = b"KEM" + (16).to_bytes(2, "big")
_HPKE = b"HPKE" + (16).to_bytes(2, "big") + (1).to_bytes(2, "big") + (1).to_bytes(2, "big")


def setup_sender(ephemeral: ec.EllipticCurvePrivateKey, dh: bytes, recipient: bytes, sender: bytes, info: bytes) -> Tuple[bytes, bytes]:
    """The encapsulated key and the exporter secret (`SetupAuthS`).

    `dh` has the shared secrets of `recipient` with `ephemeral` and with the key of `sender`; both are points.
    """
    enc = _point(ephemeral.public_key())
    return enc, _exporter(dh, enc + recipient + sender, info)


def setup_receiver(enc: bytes, private: ec.EllipticCurvePrivateKey, sender: ec.EllipticCurvePublicKey, info: bytes) -> bytes:
    """The exporter secret (`SetupAuthR`)."""
    dh = private.exchange(ec.ECDH(), _public(enc)) + private.exchange(ec.ECDH(), sender)
    return _exporter(dh, enc + _point(private.public_key()) + _point(sender), info)


def _exporter(dh: bytes, context: bytes, info: bytes) -> bytes:
    shared = _expand(_extract(b"", _KEM, b"eae_prk", dh), _KEM, b"shared_secret", context, 32)
    schedule = b"\x02" + _extract(b"", _HPKE, b"psk_id_hash", b"") + _extract(b"", _HPKE, b"info_hash", info)
    return _expand(_extract(shared, _HPKE, b"secret", b""), _HPKE, b"exp", schedule, 32)


def _export(exporter: bytes, context: bytes, length: int) -> bytes:
    return _expand(exporter, _HPKE, b"sec", context, length)


def _extract(salt: bytes, suite: bytes, label: bytes, value: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + value, "sha256")


def _expand(key: bytes, suite: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand of at most one block."""
    return hmac.digest(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\x01", "sha256")[:length]


# Calls.

def _left(end: float) -> float:
    """The time until a call's deadline, always above 0. Raises `Unreachable` after it."""
    left = end - time.monotonic()
    if left <= 0:
        raise Unreachable("the deadline has passed")
    return left


# Texts.

def _info(account: str, app: str) -> bytes:
    return f"{_PAYLOAD}\n{account}\n{app}".encode()


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str, length: Optional[int] = None) -> bytes:
    """The bytes of a text in base64url. Raises for any other text or spelling."""
    try:
        value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise Unreadable("malformed") from None
    if _text(value) != text or (length is not None and len(text) != length):
        raise Unreadable("malformed")
    return value


def _id(value: bytes) -> str:
    return _text(hashlib.sha256(value).digest()[:16])


def _is_time(text: str) -> bool:
    return 1 <= len(text) <= 10 and text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")


def _time(key: DeviceKey) -> int:
    return int(key.body.rsplit(".", 1)[1])


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _public(point: bytes) -> ec.EllipticCurvePublicKey:
    try:
        if len(point) != 65:
            raise ValueError
        return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        raise Unreadable("malformed") from None


def _sign(private: ec.EllipticCurvePrivateKey, purpose: str, body: str) -> str:
    r, s = decode_dss_signature(private.sign(f"sealpost-{purpose}\n{body}".encode(), ec.ECDSA(hashes.SHA256())))
    return _text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


def _verifies(point: bytes, purpose: str, body: str, signature: str) -> bool:
    try:
        value = _bytes(signature, _SIGNATURE)
        der = encode_dss_signature(int.from_bytes(value[:32], "big"), int.from_bytes(value[32:], "big"))
        _public(point).verify(der, f"sealpost-{purpose}\n{body}".encode(), ec.ECDSA(hashes.SHA256()))
    except (Unreadable, InvalidSignature, ValueError):
        return False
    return True


def _is_pin(pin: Any) -> bool:
    if not isinstance(pin, dict) or not isinstance(pin.get("account"), str) or not isinstance(pin.get("keys"), dict):
        return False
    return all(isinstance(key, dict) and isinstance(key.get("signing"), str) and len(key["signing"]) == _POINT
               and key.get("state") in ("trusted", "distrusted", "missing") for key in pin["keys"].values())
