import base64
import hmac
import json
import pathlib
import unittest

from sealpost import Confirmation, Events, InvalidMessage, Other, Push, Webhook

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "docs/evidence/vectors"
OLD, NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a text of twenty-four bytes"
NOW = 1_800_000_000
PUSH = b'{"secureId":"7","handle":"abcd"}'
EVENTS = b'{"type":"sealpost.events","data":{"Events":[{"Number":5}]}}'


def signed(secret, body=PUSH, id="m", at=NOW):
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    code = base64.b64encode(hmac.digest(key, f"{id}.{at}.".encode() + body, "sha256")).decode()
    return {"Webhook-Id": id, "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,{code}"}


class WebhookTests(unittest.TestCase):
    def test_the_example_of_standard_webhooks_is_signed(self):
        body = b'{"test": 2432232314}'
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        self.assertEqual(Webhook(OLD).verify(headers, body, 1614265330), Other(headers["webhook-id"], {"test": 2432232314}))
        with self.assertRaisesRegex(InvalidMessage, "signature"):
            Webhook(OLD).verify(headers, body + b" ", 1614265330)

    def test_each_kind_of_message_has_its_value(self):
        event = {
            "Number": 5, "At": "2026-11-28T10:00:00Z", "Kind": "accepted", "Notification": 7, "Device": "d", "User": "alice",
            "App": "default", "Platform": "apns", "Reason": None,
        }
        for body, kind in (
            (PUSH, Push), (b'{"confirmation":"c0de","handle":"abcd"}', Confirmation),
            (json.dumps({"type": "sealpost.events", "timestamp": "", "data": {"Events": [event]}}).encode(), Events),
        ):
            with self.subTest(kind=kind):
                message = Webhook(OLD).verify(signed(OLD, body), body, NOW)
                self.assertIs(type(message), kind)
                self.assertEqual(message.id, "m")
        self.assertEqual((message.events[0].number, message.events[0].at.hour), (5, 10))

    def test_a_message_of_an_unknown_kind_is_valid(self):
        for text in ('{"x":1}', "{}", "[]", "7", "null", '{"secureId":7}', '{"confirmation":7}', '{"type":"sealpost.events","data":{"Events":7}}'):
            with self.subTest(text=text):
                body = text.encode()
                self.assertEqual(Webhook(OLD).verify(signed(OLD, body), body, NOW), Other("m", json.loads(text)))

    def test_both_secrets_verify_while_one_is_changed(self):
        receiver = Webhook(f"{OLD}\n\n {NEW}\n")
        old, new = signed(OLD), signed(NEW)
        both = {**old, "Webhook-Signature": old["Webhook-Signature"] + " " + new["Webhook-Signature"]}
        for headers in (old, new, both):
            self.assertEqual(receiver.verify(headers, PUSH, NOW).secure_id, "7")
        self.assertEqual(Webhook(NEW).verify(both, PUSH, NOW).secure_id, "7")
        with self.assertRaises(InvalidMessage):
            Webhook(NEW).verify(old, PUSH, NOW)

    def test_secrets_and_signatures_are_read_as_the_server_reads_them(self):
        vectors = json.loads((FOLDER / "webhooks.json").read_text("utf-8"))
        body, time = vectors["body"].encode(), vectors["timestamp"]

        def verify(secrets, signature):
            fields = {"webhook-id": vectors["id"], "webhook-timestamp": str(time), "webhook-signature": signature}
            return Webhook(secrets).verify(fields, body, time)

        for row in vectors["secrets"]:
            with self.subTest(row["name"]):
                for signature in (row["signature"] or "").split(" "):
                    if signature:
                        verify(row["text"], signature)
                    else:
                        self.assertRaisesRegex(ValueError, "^secrets: ", Webhook, row["text"])
        for row in vectors["signatures"]:
            with self.subTest(row["name"]):
                if row["isAccepted"]:
                    verify(vectors["secret"], row["field"])
                else:
                    self.assertRaises(InvalidMessage, verify, vectors["secret"], row["field"])

    def test_the_window_of_time_is_inclusive_and_has_two_sides(self):
        for skew, is_valid in ((-301, False), (-300, True), (300, True), (301, False)):
            with self.subTest(skew=skew):
                if is_valid:
                    Webhook(OLD).verify(signed(OLD, at=NOW + skew), PUSH, NOW)
                else:
                    with self.assertRaisesRegex(InvalidMessage, "old"):
                        Webhook(OLD).verify(signed(OLD, at=NOW + skew), PUSH, NOW)

    def test_no_message_is_as_old_as_no_time(self):
        with self.assertRaisesRegex(InvalidMessage, "old"):
            Webhook(OLD).verify(signed(OLD), PUSH, float("nan"))

    def test_hostile_requests_are_invalid_and_nothing_else(self):
        good = signed(OLD)
        deep = b"[" * 100_000
        for headers, body in (
            ({}, PUSH), ({**good, "Webhook-Signature": "v1,é v1, ,"}, PUSH), ({**good, "Webhook-Id": "other"}, PUSH),
            ({**good, "Webhook-Timestamp": "9" * 5000}, PUSH), (signed(OLD, at="9" * 5000), PUSH), (signed(OLD, at="١٢"), PUSH),
            *[({**good, name: "\udcff"}, PUSH) for name in good], *[({**good, name: None}, PUSH) for name in good],
            (signed(OLD, deep), deep), (signed(OLD, b"\xff"), b"\xff"), (signed(OLD, b""), b""), (signed(OLD, EVENTS), EVENTS),
        ):
            with self.subTest(headers=headers, body=body[:20]), self.assertRaises(InvalidMessage):
                Webhook(OLD).verify(headers, body, NOW)

    def test_a_weak_secret_is_refused(self):
        for secret in ("", "\n", "whsec_", "whsec_AAAA", "whsec_!", "short", f"{NEW}\nshort"):
            with self.subTest(secret=secret), self.assertRaises(ValueError):
                Webhook(secret)

    def test_a_secret_with_a_wrong_character_is_refused_without_printing_it(self):
        key = OLD[6:]
        for text in ("*" + key, key[:8] + "*" + key[8:], key[:8] + " " + key[8:], key[:8] + "=" + key[8:], key + "A", key + "=A"):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, "^secrets: the text after whsec_ is not base64$"):
                Webhook(f"{NEW}\nwhsec_{text}")
        for secrets in (None, OLD.encode(), [OLD]):
            with self.subTest(secrets=secrets), self.assertRaisesRegex(TypeError, "^secrets must be of type str, not [a-zA-Z]+$"):
                Webhook(secrets)
        mixed = "whsec_-_+/" + key
        Webhook(mixed + "===").verify(signed("whsec_+/+/" + key), PUSH, NOW)


if __name__ == "__main__":
    unittest.main()
