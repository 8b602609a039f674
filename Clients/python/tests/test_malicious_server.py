"""A server that lies about keys and payloads.

The sender or the device refuses or reports each of its moves.
"""

import hashlib
import time
import unittest

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sealpost import Notification, UserKeys, end_to_end as e2e

ALICE, BOB, NOW = "A" * 22, "B" * 22, 1_795_000_000


def private():
    return ec.generate_private_key(ec.SECP256R1())


class Device:
    """A device that follows docs/end-to-end.md, with the ids of messages that it has seen."""

    def __init__(self, account=ALICE, at=NOW - 1000):
        self.signing, self.agreement, self.seen = private(), private(), {}
        self.text = e2e.device_key(account, self.signing, self.agreement, at)
        self.key = e2e.DeviceKey(self.text)

    def approved(self, *others):
        text = self.text
        for other in others:
            text = e2e.approve(text, other.key, other.signing)
        return text

    def show(self, number, payload, sender, now=NOW, app="default"):
        plain, message = e2e.open_payload(payload, self.key, self.agreement, [sender.text], app=app, now=now)
        if self.seen.setdefault(message, number) != number:
            raise e2e.Unreadable("replayed")
        return plain


class Server:
    """Answers with the lists of keys that a test puts there, and keeps what was sent."""

    def __init__(self):
        self.users, self.sent, self.deadline = [], [], 60

    def lists(self, *keys, name="alice", account=ALICE):
        self.users = [UserKeys(name, account, list(keys))]

    def device_keys(self, expression, app=None, deadline=None):
        return self.users

    def send(self, notification, **options):
        self.sent.append(notification.payload)


class Scene:
    """A sender that trusts Alice's phone and tablet, and has sent her one message."""

    def __init__(self):
        self.server, self.sender, self.reports = Server(), e2e.SenderKey(private()), []
        self.phone, self.tablet, self.bob = Device(), Device(at=NOW - 900), Device(BOB)
        self.mallory, self.foreign = Device(at=NOW - 10), Device(BOB, NOW - 20)
        self.encryption = e2e.Encryption(self.sender, e2e.Pins(), changed=self.reports.extend)
        self.server.lists(self.phone.text)
        self.send("zero")
        self.lists = lambda *keys, **more: self.server.lists(*keys, **more)
        self.lists(self.phone.text, self.tablet.approved(self.phone))
        self.send("one")
        self.reports.clear()

    def send(self, payload):
        self.encryption.send(self.server, Notification(payload, to="username:alice"))

    def message(self, payload="two", devices=None, app="default", now=NOW, sender=None):
        recipients = [e2e.DeviceRecipient("x", device.key) for device in devices or (self.phone, self.tablet)]
        return e2e.Encryption(sender or self.sender, e2e.Pins(), changed=print).encrypt(payload, recipients, app=app, now=now)


def part(text, index, value):
    parts = text.split(".")
    parts[index] = value
    return ".".join(parts)


def entry(text, device):
    keys = text.split(".")[7]
    return next(keys[at:at + e2e._ENTRY] for at in range(0, len(keys), e2e._ENTRY) if keys[at:].startswith(device.key.id))


def forged_body(scene):
    """Mallory's agreement key in the phone's statement."""
    return part(scene.phone.text, 4, scene.mallory.text.split(".")[4])


def negated(signature):
    """The other valid signature, with the negative of s."""
    value, order = e2e._bytes(signature), 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    return e2e._text(value[:32] + (order - int.from_bytes(value[32:], "big")).to_bytes(32, "big"))


def own_approval(device, by, signing):
    return device.text + by + e2e._sign(signing, "approve", device.key.body)


# Each move is a list of keys, or of users; then the kinds that the sender must report, and who may get the payload.
KEYS = {
    "a key of its own": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.mallory.text), ["unapproved"], "pt"),
    "only a key of its own": lambda s: (s.lists(s.mallory.text), ["missing", "missing", "unapproved"], ""),
    "a key of its own that approves itself": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), own_approval(s.mallory, s.mallory.key.id, s.mallory.signing)), ["unapproved"], "pt"),
    "a key of its own, approved under the phone's id": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), own_approval(s.mallory, s.phone.key.id, s.mallory.signing)), ["unapproved"], "pt"),
    "a key of its own with the tablet's approval": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.mallory.text + s.tablet.approved(s.phone).split(".")[7]), ["unapproved"], "pt"),
    "a key of its own with its second key's approval": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.mallory.approved(m := Device(at=NOW - 5)), m.text), ["unapproved", "unapproved"], "pt"),
    "a key of another account, approved by nobody here": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.foreign.approved(s.bob)), ["invalid"], "pt"),
    "another agreement key in the phone's statement": lambda s: (s.lists(forged_body(s), s.tablet.approved(s.phone)), ["invalid", "missing"], "t"),
    "the keys of another account": lambda s: (s.lists(s.bob.text), ["invalid", "missing", "missing"], ""),
    "the account of another user": lambda s: (s.lists(s.bob.text, account=BOB), ["account"], ""),
    "the old keys under another account": lambda s: (s.lists(s.phone.text, account=BOB), ["account", "invalid"], ""),
    "a cut list": lambda s: (s.lists(s.tablet.approved(s.phone)), ["missing"], "t"),
    "an empty list": lambda s: (s.lists(), ["missing", "missing"], ""),
    "a key of a later version": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), "sealpost-key.2.x"), ["invalid"], "pt"),
    "an endless key": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), "sealpost-key.1." + "x" * 100_000), ["invalid"], "pt"),
    "a cut signature": lambda s: (s.lists(s.phone.text[:-10], s.tablet.approved(s.phone)), ["invalid", "missing"], "t"),
    "a key of its own with a signature of the phone for itself": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.mallory.text + s.phone.key.id + s.phone.text.split(".")[6]), ["unapproved"], "pt"),
    "a key of its own with an approval of zeros": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), s.mallory.text + s.phone.key.id + "A" * 86), ["unapproved"], "pt"),
    "a key of its own with the approval of another user's pinned device": lambda s: (s.encryption.pins.trust("bob", s.bob.key), s.lists(s.phone.text, s.tablet.approved(s.phone), own_approval(s.mallory, s.bob.key.id, s.bob.signing)), ["unapproved"], "pt")[1:],
    "a key of its own, which it lists before as approved": lambda s: (s.lists(s.phone.text, s.tablet.approved(s.phone), own_approval(s.mallory, s.phone.key.id, s.mallory.signing), s.mallory.text), ["unapproved"], "pt"),
    "the user a second time": lambda s: (s.server.users.extend([UserKeys("ALICE", ALICE, [s.mallory.text])]), ["missing", "missing", "skipped", "unapproved"], "pt"),
    "half a character in a key": lambda s: (s.lists(part(s.phone.text, 2, "\ud800" + "A" * 21), s.tablet.approved(s.phone)), ["invalid", "missing"], "t"),
}

# Lists that change nothing, so that the sender reports nothing.
HARMLESS = {
    "the phone twice": lambda s: (s.lists(s.phone.text, s.phone.text, s.tablet.approved(s.phone)), [], "pt"),
    "the tablet without its approval": lambda s: (s.lists(s.phone.text, s.tablet.text), [], "pt"),
    "another order": lambda s: (s.lists(s.tablet.approved(s.phone), s.phone.text), [], "pt"),
    "another signature of the phone": lambda s: (s.lists(part(s.phone.text, 6, negated(s.phone.text.split(".")[6])), s.tablet.approved(s.phone)), [], "pt"),
}


class Senders(unittest.TestCase):
    def test_each_lie_about_keys_is_reported_and_its_key_gets_nothing(self):
        for name, move in {**KEYS, **HARMLESS}.items():
            scene = Scene()
            with self.subTest(name):
                _, kinds, readers = move(scene)
                self.assertEqual(not kinds, name in HARMLESS)
                if readers:
                    scene.send("two")
                else:
                    with self.assertRaises(e2e.NoTrustedDevice):
                        scene.send("two")
                self.assertEqual(sorted(change.kind for change in scene.reports), sorted(kinds + ([] if readers else ["skipped"])))
                self.assertEqual(len(scene.server.sent), 3 if readers else 2)
                got = {"p": scene.phone, "t": scene.tablet}
                keys = scene.server.sent[2].split(".")[7] if readers else ""
                ids = sorted(keys[at:at + 22] for at in range(0, len(keys), e2e._ENTRY))
                self.assertEqual(ids, sorted(got[reader].key.id for reader in readers))

    def test_a_key_that_returns_is_reported(self):
        scene = Scene()
        scene.lists(scene.tablet.approved(scene.phone))
        scene.send("two")
        scene.lists(scene.phone.text, scene.tablet.approved(scene.phone))
        scene.send("three")
        self.assertEqual([change.kind for change in scene.reports], ["missing", "returned"])
        self.assertEqual(scene.phone.show(3, scene.server.sent[3], scene.sender, now=time.time()), '"three"')

    def test_a_lost_phone_gets_nothing_whatever_is_listed(self):
        scene = Scene()
        scene.encryption.pins.distrust("Alice", scene.phone.key.id)
        for keys in ([scene.tablet.approved(scene.phone)], [scene.phone.text, scene.tablet.approved(scene.phone), scene.mallory.approved(scene.phone)]):
            scene.lists(*keys)
            scene.send("two")
            with self.assertRaisesRegex(e2e.Unreadable, "notForThisDevice"):
                scene.phone.show(3, scene.server.sent[-1], scene.sender)
        self.assertEqual([change.kind for change in scene.reports], ["unapproved"])

    def test_a_lost_phone_approves_no_device_later(self):
        scene = Scene()
        scene.lists(scene.tablet.approved(scene.phone))
        scene.send("two")
        scene.reports.clear()
        scene.lists(scene.tablet.approved(scene.phone), scene.mallory.approved(scene.phone))
        scene.send("three")
        self.assertEqual([change.kind for change in scene.reports], ["unapproved"])

    def test_a_changed_name_is_the_same_user(self):
        scene = Scene()
        scene.lists(scene.mallory.text, name="ALICE")
        with self.assertRaises(e2e.NoTrustedDevice):
            scene.send("two")


def collusion(scene):
    """Bob knows the content key of a message for both, and wraps it for Alice's phone in the sender's name."""
    text = scene.message(devices=(scene.bob,))
    return wrapped_by(scene, scene.bob, text, text)


def other_content(scene):
    """Bob puts another content under the content key of a message for both."""
    text = scene.message(devices=(scene.bob, scene.phone))
    content = content_key(scene, scene.bob, text)
    header = ".".join(text.split(".")[:6])
    return part(text, 6, e2e._text(AESGCM(content).encrypt(bytes(12), e2e.padded(b'"forged"'), header.encode())))


def content_key(scene, device, text):
    wrapped = e2e._bytes(entry(text, device)[22:])
    exporter = e2e.setup_receiver(wrapped[:65], device.agreement, e2e._public(scene.sender.public), e2e._info(device.key.account, "default"))
    return AESGCM(e2e._export(exporter, hashlib.sha256(text.rsplit(".", 1)[0].encode()).digest(), 16)).decrypt(bytes(12), wrapped[65:], None)


def wrapped_by(scene, device, text, front):
    content = content_key(scene, device, text)
    ephemeral, phone = private(), scene.phone.key
    dh = b"".join(key.exchange(ec.ECDH(), phone.public) for key in (ephemeral, device.agreement))
    enc, exporter = e2e.setup_sender(ephemeral, dh, phone.agreement, device.key.agreement, e2e._info(ALICE, "default"))
    digest = hashlib.sha256(front.rsplit(".", 1)[0].encode()).digest()
    wrapped = AESGCM(e2e._export(exporter, digest, 16)).encrypt(bytes(12), content, None)
    return part(text, 7, scene.phone.key.id + e2e._text(enc + wrapped))


# Payloads for the phone, and its reason to refuse each.
PAYLOADS = {
    "a clear payload": (lambda s: "Your test result is in.", "notEncrypted"),
    "an older version": (lambda s: part(s.message(), 1, "0"), "unsupported"),
    "another suite": (lambda s: part(s.message(), 2, "0"), "unsupported"),
    "a suite of two digits": (lambda s: part(s.message(), 2, "11"), "unsupported"),
    "half a character in the message's id": (lambda s: part(s.message(), 4, "\ud800" + "A" * 21), "malformed"),
    "a wrapped key of its own before the phone's": (lambda s: part(m := s.message(), 7, s.phone.key.id + entry(m, s.tablet)[22:] + entry(m, s.phone)), "unreadable"),
    "no wrapped key": (lambda s: part(s.message(), 7, ""), "notForThisDevice"),
    "the tablet's wrapped key": (lambda s: part(m := s.message(), 7, entry(m, s.tablet)), "notForThisDevice"),
    "the tablet's wrapped key under the phone's id": (lambda s: part(m := s.message(), 7, s.phone.key.id + entry(m, s.tablet)[22:]), "unreadable"),
    "the wrapped key of another message": (lambda s: part(s.message(), 7, entry(s.message("x"), s.phone)), "unreadable"),
    "the content of another message": (lambda s: part(s.message(), 6, s.message("x").split(".")[6]), "unreadable"),
    "the id of another message": (lambda s: part(s.message(), 4, s.message("x").split(".")[4]), "unreadable"),
    "a later time": (lambda s: part(s.message(now=NOW - 1), 5, str(NOW)), "unreadable"),
    "Bob's payload": (lambda s: s.message(devices=(s.bob,)), "notForThisDevice"),
    "Bob's payload under the phone's id": (lambda s: (m := s.message(devices=(s.bob,))).replace(s.bob.key.id, s.phone.key.id), "unreadable"),
    "a payload for another app": (lambda s: s.message(app="other"), "unreadable"),
    "a message of its own": (lambda s: s.message(sender=e2e.SenderKey(private())), "unknownSender"),
    "a message of its own in the sender's name": (lambda s: part(s.message(sender=e2e.SenderKey(private())), 3, s.sender.id), "unreadable"),
    "a message that expired long ago": (lambda s: s.message(now=NOW - 62 * 86_400), "expired"),
    "a message from the future": (lambda s: s.message(now=NOW + 2 * 86_400), "expired"),
    "a cut content": (lambda s: part(m := s.message(), 6, m.split(".")[6][:-3]), "unreadable"),
    "a cut payload": (lambda s: s.message()[:-1], "malformed"),
    "a longer payload": (lambda s: s.message() + ".x", "malformed"),
    "another spelling": (lambda s: part(m := s.message(), 6, m.split(".")[6] + "="), "malformed"),
    "a wrapped key of a recipient that works with it": (collusion, "unreadable"),
    "another content of a recipient that works with it": (other_content, "unreadable"),
}


class Devices(unittest.TestCase):
    def test_each_changed_payload_is_refused_with_its_reason(self):
        scene = Scene()
        self.assertEqual(scene.phone.show(1, scene.message(), scene.sender), '"two"')
        for name, (move, reason) in PAYLOADS.items():
            with self.subTest(name), self.assertRaises(e2e.Unreadable) as refused:
                scene.phone.show(2, move(scene), scene.sender)
            self.assertEqual(refused.exception.reason, reason, name)

    def test_a_payload_under_another_number_is_a_replay(self):
        scene = Scene()
        payload = scene.message()
        for _ in range(2):
            self.assertEqual(scene.phone.show(7, payload, scene.sender), '"two"')
        with self.assertRaisesRegex(e2e.Unreadable, "replayed"):
            scene.phone.show(8, payload, scene.sender)

    def test_each_changed_character_is_noticed(self):
        scene = Scene()
        payload = scene.message("x")
        payload = part(payload, 7, entry(payload, scene.phone))
        for at in range(len(payload)):
            changed = payload[:at] + ("A" if payload[at] != "A" else "B") + payload[at + 1:]
            with self.assertRaises(e2e.Unreadable, msg=f"character {at}"):
                scene.phone.show(9, changed, scene.sender)

    def test_at_least_25_moves_are_refused_or_reported_beside_harmless_ones(self):
        self.assertGreaterEqual(len(KEYS) + len(PAYLOADS), 25)


if __name__ == "__main__":
    unittest.main()
