import dataclasses
import json
import os
import pathlib
import threading
import unittest
from unittest import mock

from cryptography.hazmat.primitives.asymmetric import ec

import end_to_end_vectors
import sealpost
import test_calls
from sealpost import Notification, end_to_end as e2e

FOLDER = os.environ.get("SEALPOST_VECTORS") or pathlib.Path(__file__).parents[3] / "docs/evidence/vectors"
VECTORS = json.loads((pathlib.Path(FOLDER) / "end-to-end.json").read_text())


def private(text):
    return ec.derive_private_key(int.from_bytes(e2e._bytes(text), "big"), e2e._CURVE)


class Vectors(unittest.TestCase):
    def test_the_vectors_of_the_rfc(self):
        rfc = {name: bytes.fromhex(value) for name, value in VECTORS["hpke"].items() if isinstance(value, str)}
        keys = {name: ec.derive_private_key(int.from_bytes(rfc[name], "big"), e2e._CURVE) for name in ("ephemeral", "recipient", "sender")}
        dh = b"".join(keys[name].exchange(e2e.ec.ECDH(), keys["recipient"].public_key()) for name in ("ephemeral", "sender"))
        enc, secret = e2e.setup_sender(keys["ephemeral"], dh, rfc["recipientPublic"], rfc["senderPublic"], rfc["info"])
        self.assertEqual((enc, secret), (rfc["enc"], rfc["exporterSecret"]))
        self.assertEqual(e2e.setup_receiver(enc, keys["recipient"], keys["sender"].public_key(), rfc["info"]), secret)
        for export in VECTORS["hpke"]["exports"]:
            self.assertEqual(e2e._export(secret, bytes.fromhex(export["context"]), 32).hex(), export["value"])

    def test_each_device_opens_the_payloads(self):
        devices = {device["id"]: device for device in VECTORS["devices"].values()}
        for vector in VECTORS["payloads"]:
            for id in vector["devices"]:
                device = devices[id]
                found = e2e.open_payload(vector["payload"], e2e.DeviceKey(device["key"]), private(device["agreementPrivate"]),
                                         [VECTORS["sender"]["public"]], app=vector["app"], now=VECTORS["now"])
                self.assertEqual(found, (vector["plain"], vector["message"]))

    def test_other_payloads_are_refused_with_their_reason(self):
        phone = VECTORS["devices"]["phone"]
        key, own = e2e.DeviceKey(phone["key"]), private(phone["agreementPrivate"])
        for vector in VECTORS["refused"]:
            with self.subTest(vector["name"]), self.assertRaises(e2e.Unreadable) as refused:
                e2e.open_payload(vector["payload"], key, own, [VECTORS["sender"]["public"]], now=VECTORS["now"])
            self.assertEqual(refused.exception.reason, vector["reason"], vector["name"])

    def test_pins_follow_the_histories(self):
        for history in VECTORS["histories"]:
            pins = e2e.Pins()
            pins.trust("bob", e2e.DeviceKey(VECTORS["devices"]["bob"]["key"]))
            for step in history["steps"]:
                # The stored values are enough.
                pins = e2e.Pins(json.loads(json.dumps(pins.values)))
                recipients, changes = pins.check("Alice", step["account"], step["keys"])
                with self.subTest(history["name"]):
                    self.assertEqual(sorted(recipient.key.id for recipient in recipients), step["trusted"])
                    self.assertEqual(sorted([change.kind, change.key or ""] for change in changes), step["changes"])

    def test_the_program_makes_the_vectors(self):
        def lasting(vectors):
            """All but the device keys' texts, whose signatures are random."""
            steps = [step for history in vectors["histories"] for step in history["steps"]]
            devices = {name: device["id"] for name, device in vectors["devices"].items()}
            return {**vectors, "devices": devices, "histories": [(len(step["keys"]), step["trusted"], step["changes"]) for step in steps]}

        self.assertEqual(lasting(end_to_end_vectors.vectors()), lasting(VECTORS))

    def test_fingerprints(self):
        for device in VECTORS["devices"].values():
            key = e2e.DeviceKey(device["key"])
            self.assertEqual((key.id, key.fingerprint, key.account), (device["id"], device["fingerprint"], device["account"]))


class Device:
    def __init__(self, account="A" * 22, at=1000):
        self.signing, self.agreement = (ec.generate_private_key(e2e._CURVE) for _ in range(2))
        self.text = e2e.device_key(account, self.signing, self.agreement, at)
        self.key = e2e.DeviceKey(self.text)

    def open(self, payload, sender, **options):
        return e2e.open_payload(payload, self.key, self.agreement, [sender.text], **options)


class Client:
    """The server's answers, without a server."""

    def __init__(self, **users):
        self.users, self.sent, self.deadline = users, [], 60

    def device_keys(self, expression, app=None, deadline=None):
        return self.users[expression.partition(":")[2]]

    def send(self, notification, **_):
        self.sent.append(notification)


class UserKeys:
    def __init__(self, name, account, *keys):
        self.name, self.account, self.keys = name, account, keys


def encryption_of(sender, pins=None):
    """An encryption that reports changes to nobody."""
    return e2e.Encryption(sender, e2e.Pins() if pins is None else pins, changed=lambda changes: None)


class Sending(unittest.TestCase):
    def test_an_envelope_adds_192_bytes_to_the_padded_payload(self):
        recipients = [e2e.DeviceRecipient("alice", Device(at=number).key) for number in range(3)]
        encryption = encryption_of(e2e.SenderKey.generate())
        for length, size in ((2, 256), (255, 256), (256, 512), (1023, 1024), (4095, 4096), (4096, 8192), (45_055, 45_056)):
            with self.subTest(length=length):
                texts = [encryption.encrypt("x" * (length - 2), recipients[:count]) for count in (1, 2, 3)]
                padded = len(e2e._text(bytes(size)))
                self.assertEqual([len(text) for text in texts], [padded + 248, padded + 400, padded + 552])
                _, _, _, sender, message, _, content, entry = texts[0].split(".")
                encoded = [sender, message, content, entry[:22], entry[22:]]
                self.assertEqual(len(texts[0]) + sum(len(e2e._bytes(part)) - len(part) for part in encoded), size + 192)

    def test_too_many_devices_are_refused_with_their_number(self):
        sender, device = e2e.SenderKey.generate(), Device()
        many = []
        for number in range(1001):
            key = e2e.DeviceKey(device.text)
            key.id = f"{number:022d}"
            many.append(e2e.DeviceRecipient("alice", key))
        with self.assertRaisesRegex(ValueError, "1 to 1000 devices, not 1001"):
            encryption_of(sender).encrypt("x", many)

    def test_payloads_that_no_device_could_read_are_refused_before_a_request(self):
        sender, device, deep = e2e.SenderKey.generate(), Device(), None
        encryption, recipients = encryption_of(sender), [e2e.DeviceRecipient("alice", device.key)]
        for level in range(62):
            deep = [deep] if level % 2 else {"a": deep}
        self.assertEqual(json.loads(device.open(encryption.encrypt(deep, recipients), sender)[0]), deep)
        for payload, words in [("é" * 22_527, "has 45056 bytes of JSON text; .* at most 45055"), ([deep], "more than 62 levels"), ({"a": (deep,)}, "more than 62 levels"), (["\ud800"], "surrogates"), (None, "^payload: .* other than null"), ({"\udfff": 1}, "surrogates")]:
            with self.assertRaisesRegex(ValueError, words):
                encryption.encrypt(payload, recipients)
            with self.assertRaisesRegex(ValueError, words):
                # The client knows no users, so a request would raise another error.
                encryption.send(Client(), Notification(payload, to="username:alice"))

    def test_the_requests_for_keys_and_the_post_have_one_deadline(self):
        device, now, deadlines = Device(), 100.0, []

        class Slow(Client):
            def device_keys(self, expression, app=None, deadline=None):
                nonlocal now
                now += 20
                deadlines.append(deadline)
                return super().device_keys(expression)

            def send(self, notification, *, key, deadline):
                deadlines.append(deadline)

        client, notification = Slow(alice=[UserKeys("alice", "A" * 22, device.text)]), Notification("x", to=["username:alice"] * 2)
        encryption = encryption_of(e2e.SenderKey.generate())
        with mock.patch.object(e2e.time, "monotonic", lambda: now):
            encryption.send(client, notification)
            encryption.send(client, notification, deadline=50)
            encryption.encrypted(client, notification, deadline=45)
            encryption.prepare(client, notification.to, deadline=41)
            self.assertEqual(deadlines, [60, 40, 20, 50, 30, 10, 45, 25, 41, 21])
            # The report ends after the deadline, so there is no post.
            with self.assertRaises(sealpost.Unreachable) as caught:
                encryption.send(client, notification, key="k", deadline=40)
            self.assertEqual((deadlines[10:], caught.exception.idempotency_key), ([40, 20], "k"))

    def test_a_call_whose_report_ends_after_the_deadline_raises(self):
        now, client, notification = 0.0, Client(alice=[UserKeys("alice", "A" * 22, Device().text)]), Notification("x", to="username:alice")

        def late(changes):
            nonlocal now
            now += 60

        for name, argument in (("send", notification), ("encrypted", notification), ("prepare", notification.to)):
            encryption = e2e.Encryption(e2e.SenderKey.generate(), e2e.Pins(), changed=late)
            with self.subTest(name), mock.patch.object(e2e.time, "monotonic", lambda: now):
                with self.assertRaisesRegex(sealpost.Unreachable, "deadline"):
                    getattr(encryption, name)(client, argument)
            # The report has stored these pins.
            self.assertEqual(list(encryption.pins.values), ["alice"])
        self.assertEqual(client.sent, [])

    def test_the_deadline_ends_the_checks_of_a_long_list_and_its_key_agreements(self):
        now, phone = 0.0, Device()
        chain = [phone]  # Each device has the approval of the device before it.
        for number in range(4):
            chain.append(Device(at=2000 + number))
            chain[-1].text = e2e.approve(chain[-1].text, chain[-2].key, chain[-2].signing)
        client = Client(alice=[UserKeys("alice", "A" * 22, *(device.text for device in chain))])
        calls = [("encrypted", Notification("x", to="username:alice")), ("prepare", "username:alice")]

        def later(act):
            def slow(*arguments):
                nonlocal now
                now += 1
                return act(*arguments)
            return slow

        for name, argument in calls:
            # The own signatures of five keys and four approvals, then five agreements.
            for seconds, step in ((3, "read"), (7, "approve"), (12, "agree"), (15, None)):
                encryption = encryption_of(e2e.SenderKey.generate())
                now = 0.0
                with self.subTest(name, step=step), mock.patch.object(e2e.time, "monotonic", lambda: now), \
                        mock.patch.object(e2e, "_read_key", e2e.DeviceKey), mock.patch.object(e2e, "_verifies", later(e2e._verifies)), \
                        mock.patch.object(encryption, "_ephemeral", later(encryption._ephemeral)):
                    if step is None:
                        getattr(encryption, name)(client, argument, deadline=seconds)
                        self.assertEqual(now, 14)
                        continue
                    with self.assertRaisesRegex(sealpost.Unreachable, "deadline"):
                        getattr(encryption, name)(client, argument, deadline=seconds)
                    self.assertEqual(now, seconds)
                    # The call has not reported these changes, so the pins are as before.
                    self.assertEqual(bool(encryption.pins.values), step == "agree")

    def test_the_deadline_also_ends_the_requests_for_keys(self):
        stop = threading.Event()
        self.addCleanup(stop.set)

        def hanging(request):
            stop.wait()
            yield None

        script = test_calls.Script(*[hanging] * 4)
        self.addCleanup(script.close)
        encryption, notification = encryption_of(e2e.SenderKey.generate()), Notification("x", to="username:alice")
        with sealpost.Client(f"http://127.0.0.1:{script.port}", "t") as client:
            for key, call in [
                ("k", lambda: encryption.send(client, notification, key="k", deadline=0.05)), (".{36}", lambda: encryption.send(client, notification, deadline=0.05)),
                ("None", lambda: encryption.encrypted(client, notification, deadline=0.05)), ("None", lambda: encryption.prepare(client, "news", deadline=0.05)),
            ]:
                with self.assertRaises(sealpost.Unreachable) as caught:
                    call()
                self.assertRegex(str(caught.exception.idempotency_key), f"^{key}$")
            for expected, call in [
                ("deadline must be above 0", lambda: encryption.send(client, notification, deadline=0)), ("key must have visible", lambda: encryption.send(client, notification, key="a b")),
            ]:
                with self.assertRaisesRegex(ValueError, f"^{expected}"):
                    call()
        self.assertLessEqual(len(script.requests), 4)

    def test_an_empty_name_of_an_app_is_not_the_default(self):
        apps, device = [], Device()

        class Asked(Client):
            def device_keys(self, expression, app=None, deadline=None):
                apps.append(app)
                return [UserKeys("alice", "A" * 22, device.text)]

        client, encryption = Asked(), encryption_of(e2e.SenderKey.generate())
        for app in ("", None):
            encryption.send(client, Notification("x", to="username:alice", app=app))
        self.assertEqual((apps, [sent.app for sent in client.sent]), (["", "default"], ["", "default"]))

    def test_a_payload_is_for_the_recipients_at_the_time_of_the_call(self):
        device, to = Device(), ["username:alice"]

        class Changing(Client):
            def device_keys(self, expression, app=None, deadline=None):
                to[0] = "username:bob"  # The caller's list changes while the library waits for the keys.
                return super().device_keys(expression)

        found = encryption_of(e2e.SenderKey.generate()).encrypted(Changing(alice=[UserKeys("alice", "A" * 22, device.text)]), Notification("x", to=to))
        self.assertEqual(json.loads(found.body())["To"], ["username:alice"])

    def test_contexts_are_reused_and_payloads_differ(self):
        sender, device = e2e.SenderKey.generate(), Device()
        encryption = encryption_of(sender)
        first, second = (encryption.encrypt("x", [e2e.DeviceRecipient("alice", device.key)]) for _ in range(2))
        self.assertEqual(first.split(".")[7][:22 + 80], second.split(".")[7][:22 + 80])  # The same encapsulated key.
        self.assertNotEqual(first.split(".")[6], second.split(".")[6])
        for text in (first, second):
            self.assertEqual(device.open(text, sender)[0], '"x"')

    def test_contexts_are_renewed_a_few_at_a_time_or_ahead(self):
        sender, devices = e2e.SenderKey.generate(), [Device(at=number) for number in range(5)]
        encryption = encryption_of(sender)
        recipients = [e2e.DeviceRecipient("alice", device.key) for device in devices]
        client = Client(alice=[UserKeys("alice", "A" * 22, *(device.text for device in devices))])
        for device in devices:
            encryption.pins.trust("alice", device.key)

        def at(time, act):
            """The number of new contexts."""
            before = dict(encryption._contexts)
            with mock.patch.object(e2e, "EARLY_RENEWALS", 2), mock.patch.object(e2e.time, "monotonic", lambda: time):
                text = act()
            for device in devices if text else []:
                self.assertEqual(device.open(text, sender)[0], '"x"')
            return sum(before.get(name) != found for name, found in encryption._contexts.items())

        encrypt = lambda: encryption.encrypt("x", recipients)
        self.assertEqual([at(time, encrypt) for time in (0, 1800, 1801, 1802, 1803, 1804)], [5, 0, 2, 2, 1, 0])
        self.assertEqual([at(time, encrypt) for time in (5405, 5406)], [5, 0])
        prepare = lambda: encryption.prepare(client, "username:alice")
        self.assertEqual([at(7000, prepare), at(7206, prepare), at(7206, encrypt)], [0, 5, 0])

    def test_only_trusted_devices_get_the_payload_and_changes_come_first(self):
        sender, phone, stranger = e2e.SenderKey.generate(), Device(), Device(at=2000)
        client, seen = Client(alice=[UserKeys("alice", "A" * 22, phone.text)]), []
        encryption = e2e.Encryption(sender, e2e.Pins(), changed=lambda changes: seen.extend((change.kind, len(client.sent)) for change in changes))
        encryption.send(client, Notification("one", to="username:alice"))
        client.users["alice"] = [UserKeys("alice", "A" * 22, phone.text, stranger.text, None)]
        encryption.send(client, Notification("two", to="username:alice"))
        self.assertEqual(seen, [("first", 0), ("unapproved", 1)])
        self.assertEqual(phone.open(client.sent[1].payload, sender)[0], '"two"')
        self.assertEqual(client.sent[1].app, "default")
        with self.assertRaisesRegex(e2e.Unreadable, "notForThisDevice"):
            stranger.open(client.sent[1].payload, sender)

    def test_a_subclass_of_notification_cannot_replace_the_encrypted_payload(self):
        @dataclasses.dataclass(frozen=True)
        class Greeting(Notification):
            def __post_init__(self):
                object.__setattr__(self, "payload", "clear")

        sender, phone = e2e.SenderKey.generate(), Device()
        client = Client(alice=[UserKeys("alice", "A" * 22, phone.text)])
        encryption_of(sender).send(client, Greeting("x", to="username:alice"))
        self.assertIs(type(client.sent[0]), Notification)
        self.assertEqual(phone.open(client.sent[0].payload, sender)[0], '"clear"')

    def test_no_thread_sends_before_another_has_reported_its_changes(self):
        order, client = [], Client(alice=[UserKeys("alice", "A" * 22, Device().text)])
        client.send = lambda notification, **_: order.append("sent")
        send = lambda: encryption.send(client, Notification("x", to="username:alice"))
        other = threading.Thread(target=send)

        def changed(changes):
            other.start()
            other.join(0.5)
            order.append("reported")

        encryption = e2e.Encryption(e2e.SenderKey.generate(), e2e.Pins(), changed=changed)
        send()
        other.join()
        self.assertEqual(order, ["reported", "sent", "sent"])

    def test_a_call_that_waits_for_the_report_of_another_ends_at_its_deadline(self):
        client = Client(alice=[UserKeys("alice", "A" * 22, Device().text)], bob=[UserKeys("bob", "A" * 22, Device().text)])
        reports, errors = [], []

        def waiting():
            try:
                encryption.send(client, Notification("x", to="username:bob"), deadline=0.05)
            except sealpost.Unreachable as error:
                errors.append(error)

        def changed(changes):
            other = threading.Thread(target=waiting)
            if not reports:
                other.start()
                other.join(10)
                self.assertFalse(other.is_alive())
            reports.append(changes[0].user)

        encryption = e2e.Encryption(e2e.SenderKey.generate(), e2e.Pins(), changed=changed)
        encryption.send(client, Notification("x", to="username:alice"))
        self.assertEqual((reports, len(errors), len(client.sent)), (["alice"], 1, 1))

    def test_changes_whose_report_has_failed_are_reported_again(self):
        phone, tablet = Device(), Device(at=2000)
        approved = e2e.approve(tablet.text, phone.key, phone.signing)
        client, pins, reports, fails = Client(), e2e.Pins(), [], True

        def changed(changes):
            reports.append(" ".join(change.kind for change in changes))
            self.assertIn(phone.key.id, pins.values["alice"]["keys"])  # The pins of the change can be stored here.
            if fails:
                raise InterruptedError

        encryption = e2e.Encryption(e2e.SenderKey.generate(), pins, changed=changed)
        notification = Notification("x", to="username:alice")
        for texts, kinds in [
            ([phone.text], "first"), ([phone.text, approved], "added"), ([approved], "missing"), ([phone.text, approved], "returned"),
        ]:
            client.users, before = {"alice": [UserKeys("Alice", "A" * 22, *texts)]}, json.dumps(pins.values)
            fails = True
            for act in (encryption.send, lambda client, notification: encryption.prepare(client, notification.to)):
                with self.subTest(kinds), self.assertRaises(InterruptedError):
                    act(client, notification)
            self.assertEqual(json.dumps(pins.values), before)
            fails = False
            encryption.send(client, notification)
            self.assertEqual((reports, len(client.sent)), ([kinds] * 3, 1))
            reports.clear()
            client.sent.clear()

    def test_a_distrust_within_a_failed_report_remains(self):
        phone, pins = Device(), e2e.Pins()
        client = Client(alice=[UserKeys("alice", "A" * 22, phone.text)])

        def changed(changes):
            pins.distrust("alice", phone.key.id)
            raise InterruptedError

        with self.assertRaises(InterruptedError):
            e2e.Encryption(e2e.SenderKey.generate(), pins, changed=changed).prepare(client, "username:alice")
        self.assertEqual(pins.check("alice", "A" * 22, [phone.text]), ([], []))

    def test_a_device_that_is_distrusted_during_the_report_gets_nothing(self):
        phone, tablet, pins, sender = Device(), Device(at=2000), e2e.Pins(), e2e.SenderKey.generate()
        client = Client(alice=[UserKeys("Alice", "A" * 22, phone.text, e2e.approve(tablet.text, phone.key, phone.signing))])

        def changed(changes):
            # `distrust` is called by another thread, and has returned before the report ends.
            other = threading.Thread(target=pins.distrust, args=("alice", lost.key.id))
            other.start()
            other.join()

        encryption, lost = e2e.Encryption(sender, pins, changed=changed), tablet
        encryption.send(client, Notification("x", to="username:alice"))
        self.assertEqual(phone.open(client.sent[0].payload, sender)[0], '"x"')
        with self.assertRaisesRegex(e2e.Unreadable, "notForThisDevice"):
            tablet.open(client.sent[0].payload, sender)
        lost = phone
        client.users["alice"][0].keys += (Device(at=3000).text,)  # A change, so that there is a report.
        with self.assertRaises(e2e.NoTrustedDevice):
            encryption.send(client, Notification("x", to="username:alice"))
        self.assertEqual(len(client.sent), 1)

    def test_nothing_is_sent_without_a_trusted_device(self):
        client = Client(alice=[UserKeys("alice", "A" * 22, Device().text)])
        encryption = encryption_of(e2e.SenderKey.generate(), e2e.Pins(trusts_first_contact=False))
        with self.assertRaisesRegex(e2e.NoTrustedDevice, "alice: unapproved"):
            encryption.send(client, Notification("x", to="username:alice"))
        self.assertEqual(client.sent, [])

    def test_users_who_get_nothing_are_reported_before_the_others_get_it(self):
        client = Client(
            alice=[UserKeys("alice", "A" * 22, Device().text)], bob=[], carol=[UserKeys("Carol", "B" * 22, None)], nurse=[],
        )
        seen, to = [], ["username:alice", "username:bob", "username:carol", "role:nurse"]
        report = lambda changes: seen.extend((change.user, change.kind, len(client.sent)) for change in changes)
        encryption = e2e.Encryption(e2e.SenderKey.generate(), e2e.Pins(), changed=report)
        for _ in range(2):  # No pin ends the report.
            encryption.send(client, Notification("x", to=to))
        skipped = [("bob", "skipped"), ("Carol", "skipped")]
        self.assertEqual(seen, [("alice", "first", 0)] + [(*one, sent) for sent in (0, 1) for one in skipped])
        with self.assertRaisesRegex(e2e.NoTrustedDevice, "device: bob: skipped$"):
            encryption.send(client, Notification("x", to="username:bob"))
        with self.assertRaisesRegex(e2e.NoTrustedDevice, "device: Bob: skipped$"):
            encryption.send(Client(**{"Bob )": []}), Notification("x", to="( USERNAME:Bob )"))

    def test_a_compared_device_is_trusted(self):
        device = Device()
        pins = e2e.Pins(trusts_first_contact=False)
        pins.trust("alice", device.key)
        self.assertEqual(len(pins.check("alice", "A" * 22, [device.text])[0]), 1)

    def test_a_listed_key_is_verified_once(self):
        device, pins = Device(), e2e.Pins()
        with mock.patch.object(e2e, "_verifies", wraps=e2e._verifies) as verified:
            for _ in range(3):
                self.assertEqual(len(pins.check("alice", "A" * 22, [device.text])[0]), 1)
        self.assertEqual(verified.call_count, 1)

    def test_a_lost_device_that_was_not_seen_gets_nothing(self):
        phone, tablet = Device(), Device(at=2000)
        approved = e2e.approve(tablet.text, phone.key, phone.signing)
        pins = e2e.Pins()
        pins.trust("alice", phone.key)
        pins.distrust("Alice", tablet.key.id)
        pins = e2e.Pins(json.loads(json.dumps(pins.values)))
        recipients, changes = pins.check("alice", "A" * 22, [phone.text, approved])
        self.assertEqual(([recipient.key.id for recipient in recipients], changes), ([phone.key.id], []))
        pins.trust("alice", tablet.key)
        self.assertEqual(len(pins.check("alice", "A" * 22, [phone.text, approved])[0]), 2)

    def test_a_distrust_of_an_unknown_user_or_another_text_is_refused(self):
        pins, key = e2e.Pins(), Device().key
        pins.trust("alice", key)
        for user, text in (("alice", "x"), ("alice", key.body), ("alice", key.id + "\n"), ("bob", key.id)):
            with self.assertRaisesRegex(ValueError, f"{user} has no pins, or "):
                pins.distrust(user, text)
        self.assertEqual(list(pins.values["alice"]["keys"]), [key.id])

    def test_values_of_another_type_are_refused_with_the_expected_one(self):
        sender, device = e2e.SenderKey.generate(), Device()
        encryption = encryption_of(sender)
        payload = encryption.encrypt("x", [e2e.DeviceRecipient("alice", device.key)])

        def opened(text=payload, key=device.key, private=device.agreement, senders=(sender.text,), **options):
            return e2e.open_payload(text, key, private, senders, **options)

        self.assertEqual(opened()[0], '"x"')
        pins = e2e.Pins()
        for expected, call in [
            ("text must be of type str, not bytes", lambda: opened(text=payload.encode())),
            ("key must be of type DeviceKey, not str", lambda: opened(key=device.text)),
            ("private must be of type EllipticCurvePrivateKey, not bytes", lambda: opened(private=b"")),
            ("senders must be a list of str", lambda: opened(senders=sender.text)),
            ("senders must be a list of str", lambda: opened(senders=[sender.public])),
            ("senders must be a list of str", lambda: opened(senders=None)),
            ("app must be of type str, not NoneType", lambda: opened(app=None)),
            ("now must be of type Real, not str", lambda: opened(now="1")),
            ("values must be of type dict, not str", lambda: e2e.Pins(json.dumps({}))),
            ("values must be of type dict, not NoneType", lambda: e2e.Pins(None)),
            ("trusts_first_contact must be of type bool, not str", lambda: e2e.Pins(trusts_first_contact="no")),
            ("key must be of type SenderKey, not str", lambda: e2e.Encryption(sender.text, pins, changed=print)),
            ("pins must be of type Pins, not dict", lambda: e2e.Encryption(sender, pins.values, changed=print)),
            ("changed must be of type Callable, not NoneType", lambda: e2e.Encryption(sender, pins, changed=None)),
            ("missing 1 required keyword-only argument: 'changed'", lambda: e2e.Encryption(sender, pins)),
            ("key must be of type DeviceKey, not str", lambda: pins.trust("alice", device.text)),
            ("user must be of type str, not bytes", lambda: pins.trust(b"alice", device.key)),
            ("key must be of type str, not DeviceKey", lambda: pins.distrust("alice", device.key)),
            ("user must be of type str, not NoneType", lambda: pins.forget(None)),
            ("account must be of type str, not NoneType", lambda: pins.check("alice", None, [])),
            ("app must be of type str, not NoneType", lambda: encryption.prepare(Client(), "news", app=None)),
            # The client knows no users, so a request would raise another error.
            ("to must be a list of str", lambda: encryption.send(Client(), Notification("x", to=["username:alice", None]))),
            ("to must be a list of str", lambda: encryption.prepare(Client(), ["username:alice", None])),
            ("to must be a list of str", lambda: encryption.encrypted(Client(), Notification("x", to=5))),
            ("app must be of type str, not NoneType", lambda: encryption.encrypt("x", [], app=None)),
            ("notification must be of type Notification, not str", lambda: encryption.send(Client(), "text")),
            ("app must be of type str, not int", lambda: encryption.send(Client(), Notification("x", to="news", app=0))),
            ("app must be of type str, not bool", lambda: encryption.encrypted(Client(), Notification("x", to="news", app=False))),
            ("maximum_payload must be of type int, not float", lambda: e2e.Encryption(encryption.key, pins, changed=print, maximum_payload=1.5)),
            ("texts must be a list of str", lambda: pins.check("alice", "A" * 22, device.text)),
            ("texts must be a list of str", lambda: pins.check("alice", "A" * 22, [device.text, None])),
        ]:
            with self.subTest(expected), self.assertRaisesRegex(TypeError, expected):
                call()
        self.assertEqual(pins.values, {})

    def test_impossible_values_are_refused_before_a_request(self):
        encryption = encryption_of(e2e.SenderKey.generate())
        for expected, call in [
            ("maximum_payload must be above 0", lambda: e2e.Encryption(encryption.key, encryption.pins, changed=print, maximum_payload=0)),
            ("maximum_payload must be a finite number", lambda: e2e.Encryption(encryption.key, encryption.pins, changed=print, maximum_payload=-1)),
            ("to: name the recipients", lambda: encryption.send(Client(), Notification("x"))),
            ("to: name the recipients", lambda: encryption.prepare(Client(), [])),
        ]:
            with self.subTest(expected), self.assertRaisesRegex(ValueError, f"^{expected}"):
                call()

    def test_damaged_pins_are_refused(self):
        pins = e2e.Pins()
        pins.trust("alice", Device().key)
        stored = json.dumps(pins.values)
        for old, new in [('"trusted"', '"yes"'), ('"signing": "', '"signing": "x'), ('"account"', '"Account"'), ('"state"', '"State"')]:
            with self.subTest(old), self.assertRaisesRegex(ValueError, "the pins of 'alice' are damaged"):
                e2e.Pins(json.loads(stored.replace(old, new)))
        for value in (None, [], {"account": "A", "keys": []}, {"account": "A", "keys": {"x": None}}):
            with self.subTest(value), self.assertRaisesRegex(ValueError, "damaged"):
                e2e.Pins({"alice": value})
        self.assertEqual(e2e.Pins(json.loads(stored)).values, pins.values)

    def test_lengths_fall_into_classes(self):
        for length, size in [(0, 256), (255, 256), (256, 512), (4095, 4096), (4096, 8192), (8191, 8192), (8192, 12288)]:
            self.assertEqual(len(e2e.padded(bytes(length))), size)

    def test_a_senders_key_survives_as_pem(self):
        key = e2e.SenderKey.generate()
        self.assertEqual(e2e.SenderKey.read(key.pem()).id, key.id)


if __name__ == "__main__":
    unittest.main()
