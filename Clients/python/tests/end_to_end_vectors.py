"""Writes docs/evidence/vectors/end-to-end.json: python3 tests/end_to_end_vectors.py > FILE. All libraries read it.

All keys are hashes of their names, for nothing else than tests.
"""

import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402

from sealpost import end_to_end as e2e  # noqa: E402

NOW = 1_795_000_000
# RFC 9180, appendix A.3.3: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, mode Auth.
RFC = {
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "ephemeral": "6b8de0873aed0c1b2d09b8c7ed54cbf24fdf1dfc7a47fa501f918810642d7b91",
    "recipient": "d929ab4be2e59f6954d6bedd93e638f02d4046cef21115b00cdda2acb2a4440e",
    "recipientPublic": "04423e363e1cd54ce7b7573110ac121399acbc9ed815fae03b72ffbd4c18b01836835c5a09513f28fc971b7266cfde2e96afe84bb0"
                       "f266920e82c4f53b36e1a78d",
    "sender": "1120ac99fb1fccc1e8230502d245719d1b217fe20505c7648795139d177f0de9",
    "senderPublic": "04a817a0902bf28e036d66add5d544cc3a0457eab150f104285df1e293b5c10eef8651213e43d9cd9086c80b309df22cf37609f58c11"
                    "27f7607e85f210b2804f73",
    "enc": "042224f3ea800f7ec55c03f29fc9865f6ee27004f818fcbdc6dc68932c1e52e15b79e264a98f2c535ef06745f3d308624414153b22c7332bc1e691"
           "cb4af4d53454",
    "exporterSecret": "f152759972660eb0e1db880835abd5de1c39c8e9cd269f6f082ed80e28acb164",
    "exports": [
        {"context": "", "value": "837e49c3ff629250c8d80d3c3fb957725ed481e59e2feb57afd9fe9a8c7c4497"},
        {"context": "00", "value": "594213f9018d614b82007a7021c3135bda7b380da4acd9ab27165c508640dbda"},
        {"context": "54657374436f6e74657874", "value": "14fe634f95ca0d86e15247cca7de7ba9b73c9b9deb6437e1c832daf7291b79d5"},
    ],
}


def private(name):
    return ec.derive_private_key(int.from_bytes(hashlib.sha256(f"sealpost test {name}".encode()).digest(), "big") >> 1, e2e._CURVE)


def scalar(key):
    return e2e._text(key.private_numbers().private_value.to_bytes(32, "big"))


class Device:
    def __init__(self, name, account, at):
        self.signing, self.agreement = private(f"{name} signing"), private(f"{name} agreement")
        self.text = e2e.device_key(account, self.signing, self.agreement, at)
        self.key = e2e.DeviceKey(self.text)

    def approved(self, *others):
        text = self.text
        for other in others:
            text = e2e.approve(text, other.key, other.signing)
        return text

    def json(self, text=None):
        return {
            "key": text or self.text, "id": self.key.id, "fingerprint": self.key.fingerprint, "account": self.key.account,
            "signingPrivate": scalar(self.signing), "agreementPrivate": scalar(self.agreement),
        }


class Fixed(e2e.Encryption):
    """With constant ephemeral keys."""

    count = 0

    def _ephemeral(self):
        self.count += 1
        return private(f"ephemeral {self.count}")


def vectors():
    alice, bob = e2e._id(b"alice"), e2e._id(b"bob")
    phone, tablet, laptop = (Device(name, alice, NOW - 1000 + at) for at, name in enumerate(["phone", "tablet", "laptop"]))
    other, mallory = Device("bob", bob, NOW - 500), Device("mallory", alice, NOW - 100)
    sender, stranger = e2e.SenderKey(private("sender")), e2e.SenderKey(private("stranger"))
    all_devices = [e2e.DeviceRecipient("alice", device.key) for device in (phone, tablet)] + [e2e.DeviceRecipient("bob", other.key)]

    def encrypt(plain, number, app="default", key=sender, now=NOW, devices=all_devices):
        message, content = (hashlib.sha256(b"%s %d" % (purpose, number)).digest()[:16] for purpose in (b"message", b"content"))
        return Fixed(key, e2e.Pins(), changed=print)._encrypt(plain.encode(), devices, app, message, now, content)

    plains = ['"Your test result is in."', '{"room":7,"text":"Überwachung ☂"}', '"' + "x" * 253 + '"', '"' + "x" * 254 + '"',
              '"' + "y" * 5000 + '"', "null"]
    payloads = []
    for number, plain in enumerate(plains):
        text = encrypt(plain, number)
        payloads.append({
            "app": "default", "plain": plain, "payload": text, "message": text.split(".")[4],
            "contentKey": e2e._text(hashlib.sha256(b"content %d" % number).digest()[:16]),
            "devices": [phone.key.id, tablet.key.id, other.key.id],
        })
    good = payloads[0]["payload"]
    parts = good.split(".")
    entries = {parts[7][at:at + 22]: parts[7][at:at + e2e._ENTRY] for at in range(0, len(parts[7]), e2e._ENTRY)}

    def changed(index, value):
        return ".".join(parts[:index] + [value] + parts[index + 1:])

    def flipped(text, at):
        return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:]

    second = encrypt('"Another."', 77).split(".")
    refused = [
        ("a clear text", "Your test result is in.", "notEncrypted"),
        ("a later version", changed(1, "2"), "unsupported"),
        ("another suite", changed(2, "2"), "unsupported"),
        ("a suite of two digits", changed(2, "11"), "unsupported"),
        ("no keys", changed(7, ""), "notForThisDevice"),
        ("only another device's key", changed(7, entries[tablet.key.id]), "notForThisDevice"),
        ("another device's key under this device's id", changed(7, phone.key.id + entries[tablet.key.id][22:]), "unreadable"),
        ("another device's key under this device's id, before this device's key",
         changed(7, phone.key.id + entries[tablet.key.id][22:] + entries[phone.key.id]), "unreadable"),
        ("a key of another payload of the sender", changed(7, second[7]), "unreadable"),
        ("the content of another payload of the sender", changed(6, second[6]), "unreadable"),
        ("a changed content", changed(6, flipped(parts[6], 100)), "unreadable"),
        ("a changed message id", changed(4, second[4]), "unreadable"),
        ("a changed time", changed(5, str(NOW - 1)), "unreadable"),
        ("a changed wrapped key", changed(7, phone.key.id + flipped(entries[phone.key.id][22:], 110)), "unreadable"),
        ("an encapsulated key that is no point", changed(7, phone.key.id + flipped(entries[phone.key.id][22:], 20)), "malformed"),
        ("an unknown sender", encrypt('"x"', 1, key=stranger), "unknownSender"),
        ("an unknown sender under a known one's id", ".".join([*encrypt('"x"', 1, key=stranger).split(".")[:3], parts[3],
                                                              *encrypt('"x"', 1, key=stranger).split(".")[4:]]), "unreadable"),
        ("a payload of another app", encrypt('"x"', 2, app="other"), "unreadable"),
        ("a payload that is too old", encrypt('"x"', 3, now=NOW - e2e.LONGEST_LIFE - 1), "expired"),
        ("a payload from the future", encrypt('"x"', 4, now=NOW + e2e.CLOCK_SKEW + 1), "expired"),
        ("a part too few", ".".join(parts[:7]), "malformed"),
        ("a part too many", good + ".", "malformed"),
        ("a time with a leading zero", changed(5, "0" + parts[5]), "malformed"),
        ("a short time with a leading zero", changed(5, "0" + parts[5][1:]), "malformed"),
        ("a time that is not decimal", changed(5, "1e9"), "malformed"),
        ("a cut entry", changed(7, parts[7][:-1]), "malformed"),
        ("another alphabet", changed(6, "+" + parts[6][1:]), "malformed"),
        ("a content with trailing bits", changed(6, parts[6][:-1] + chr(ord(parts[6][-1]) + 1)), "malformed"),
        ("an empty content", changed(6, ""), "unreadable"),
    ]

    # Bob is a recipient, so he has the content key, and works with the server.
    shared = encrypt('"two"', 5)
    content, front = hashlib.sha256(b"content 5").digest()[:16], shared.rsplit(".", 1)[0]
    ephemeral = private("bob's ephemeral")
    dh = b"".join(key.exchange(ec.ECDH(), phone.key.public) for key in (ephemeral, other.agreement))
    enc, exporter = e2e.setup_sender(ephemeral, dh, phone.key.agreement, other.key.agreement, e2e._info(alice, "default"))
    wrapping = e2e._export(exporter, hashlib.sha256(front.encode()).digest(), 16)
    by_bob = phone.key.id + e2e._text(enc + AESGCM(wrapping).encrypt(bytes(12), content, None))
    header = ".".join(shared.split(".")[:6])
    forged = e2e._text(AESGCM(content).encrypt(bytes(12), e2e.padded(b'"forged"'), header.encode()))
    for_bob = encrypt('"x"', 6, devices=all_devices[2:])
    refused += [
        ("an older version", changed(1, "0"), "unsupported"),
        ("another user's payload", for_bob, "notForThisDevice"),
        ("another user's payload under this device's id", for_bob.replace(other.key.id, phone.key.id), "unreadable"),
        ("a wrapped key of a recipient that works with the server", f"{front}.{by_bob}", "unreadable"),
        ("another content of a recipient that works with the server", ".".join([header, forged, shared.split(".")[7]]), "unreadable"),
        ("a cut content", changed(6, parts[6][:-3]), "unreadable"),
        ("another spelling", changed(6, parts[6] + "="), "malformed"),
    ]
    cut, newer = changed(7, entries[phone.key.id]), payloads[1]["payload"]
    replays = [
        ("the same notification again", [(7, good, "opened"), (7, good, "opened")]),
        ("a payload under another notification", [(7, good, "opened"), (8, good, "replayed"), (7, good, "opened")]),
        ("an older payload after a newer one", [(7, good, "opened"), (8, newer, "opened"), (9, good, "replayed")]),
        ("a payload without the keys of other devices", [(7, good, "opened"), (8, cut, "replayed")]),
        ("a payload under an older notification", [(7, good, "opened"), (6, good, "replayed")]),
        ("a payload that was changed before", [(7, changed(6, second[6]), "unreadable"), (8, good, "opened")]),
    ]
    histories = pin_histories(alice, bob, phone, tablet, laptop, other, mallory)
    return {
        "now": NOW, "hpke": RFC,
        "sender": {"private": scalar(sender._private), "public": sender.text, "id": sender.id},
        "stranger": {"private": scalar(stranger._private), "public": stranger.text, "id": stranger.id},
        "devices": {"phone": phone.json(), "tablet": tablet.json(tablet.approved(phone)), "laptop": laptop.json(laptop.approved(tablet)),
                    "bob": other.json(), "mallory": mallory.json()},
        "payloads": payloads,
        "refused": [{"name": name, "payload": text, "reason": reason} for name, text, reason in refused],
        "replays": [
            {"name": name, "steps": [{"id": id, "payload": text, "verdict": verdict} for id, text, verdict in steps]}
            for name, steps in replays
        ],
        "histories": histories,
    }


def pin_histories(alice, bob, phone, tablet, laptop, other, mallory):
    old, new = phone.text, tablet.approved(phone)
    stranger = Device("stranger", alice, NOW - 50)
    own_approval = mallory.text + mallory.key.id + e2e._sign(mallory.signing, "approve", mallory.key.body)
    moved = new.split(".")
    wrong = ".".join([*mallory.text.split(".")[:7], moved[7]])  # The approval of another key.
    parts = old.split(".")
    mixed = mallory.text + phone.key.id + parts[6]  # The phone's signature of its own key.
    swapped = ".".join([*parts[:4], mallory.text.split(".")[4], *parts[5:]])  # Its agreement key is the server's.
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    own = e2e._bytes(parts[6])
    negated = own[:32] + (order - int.from_bytes(own[32:], "big")).to_bytes(32, "big")  # Valid, too: with the negative of s.
    by_bob = mallory.text + other.key.id + e2e._sign(other.signing, "approve", mallory.key.body)
    stories = {
        "a second device is approved by the first": [[alice, [old]], [alice, [old, new]], [alice, [old, new]]],
        "approvals form a chain within one list": [[alice, [old]], [alice, [laptop.approved(tablet), new, old]]],
        "the approving device is gone already": [[alice, [old]], [alice, [new]]],
        "a device that went missing approves nobody later": [[alice, [old]], [alice, []], [alice, [new]]],
        "a device that returns approves nobody in the same list": [[alice, [old]], [alice, []], [alice, [old, new]], [alice, [old, new]]],
        "the server adds a key of its own": [[alice, [old]], [alice, [old, mallory.text]]],
        "a key approves itself": [[alice, [old]], [alice, [old, own_approval]]],
        "an approval of another key": [[alice, [old]], [alice, [old, wrong]]],
        "the server replaces all keys": [[alice, [old, new]], [alice, [mallory.text]]],
        "the server swaps the agreement key": [[alice, [old]], [alice, [swapped]]],
        "a cut list, and the old key again": [[alice, [old, new]], [alice, [new]], [alice, [old, new]]],
        "another account's keys": [[alice, [old]], [alice, [other.text]]],
        "another account": [[alice, [old]], [bob, [other.text]]],
        "an unreadable key": [[alice, [old, "sealpost-key.2.x", "", old[:-3], "x" * 3000]]],
        "the same key twice": [[alice, [old, old]]],
        "no keys": [[alice, []], [alice, [old]]],
        "a key with another key's approval under the phone's id": [[alice, [old]], [alice, [old, mallory.text + phone.key.id + own_approval[-86:]]]],
        "a key with a second key's approval": [[alice, [old]], [alice, [old, mallory.approved(stranger), stranger.text]]],
        "old keys under another account": [[alice, [old, new]], [bob, [old]]],
        "a key without its approval": [[alice, [old, new]], [alice, [old, tablet.text]]],
        "two unapproved keys at the first contact": [[alice, [old, mallory.text]]],
        "the keys in another order": [[alice, [old, new]], [alice, [new, old]]],
        "an approval that is another key's own signature": [[alice, [old]], [alice, [old, mixed]]],
        "an approval of zeros": [[alice, [old]], [alice, [old, mallory.text + phone.key.id + "A" * 86]]],
        "an approval of another user's trusted device": [[alice, [old]], [alice, [old, by_bob]]],
        "a key that is listed twice, first with a wrong approval": [[alice, [old]], [alice, [old, mixed, mallory.text]]],
        "another valid signature": [[alice, [old]], [alice, [".".join([*parts[:6], e2e._text(negated), parts[7]])]]],
    }
    histories = []
    for name, steps in stories.items():
        pins, done = e2e.Pins(), []
        pins.trust("bob", other.key)
        for account, keys in steps:
            recipients, changes = pins.check("alice", account, keys)
            done.append({
                "account": account, "keys": keys, "trusted": sorted(recipient.key.id for recipient in recipients),
                "changes": sorted([change.kind, change.key or ""] for change in changes),
            })
        histories.append({"name": name, "steps": done})
    return histories


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1, ensure_ascii=False))
