"""The vectors of docs/evidence/vectors, with which every client is tested."""

import base64
import importlib.util
import json
import pathlib
import unittest
from unittest import mock

from sealpost import Interference, Unreachable
from sealpost.checks import GREATEST_TOKEN, Request, Verifier, check, content_digest, thumbprint
from sealpost.errors import seconds
from sealpost.transport import Answer

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "docs/evidence/vectors"
# The checks of the content belong to each call; the library sends no conditions.
OF_CALLS = {"notJSON", "unexpectedBody", "unexpectedNotModified", "wrongID"}


def vectors(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def exchange(vector):
    sent, got = vector["request"], vector["answer"]
    query = "" if sent["query"] is None else f"?{sent['query']}"
    body = base64.b64decode(got["bodyBase64"]) if "bodyBase64" in got else got["body"].encode()
    fields = [tuple(pair) for pair in got["fields"]]
    is_complete = got.get("end", "complete") == "complete"
    return Request(sent["method"], sent["path"], query, int(sent["token"])), Answer(got["status"], fields, body, is_complete)


def verdict(vector, verifier):
    request, answer = exchange(vector)
    try:
        check(request, answer, vector["account"], verifier, vector["deviceTime"])
    except Interference as error:
        return error.kind
    except Unreachable:
        return "truncated"
    return "accepted"


class EchoTests(unittest.TestCase):
    def test_echoes_are_those_of_the_vectors(self):
        echo = vectors("echo")
        self.assertEqual(echo["greatest"], GREATEST_TOKEN)
        for one in echo["echoes"]:
            request = Request("GET", "/", "", int(one["token"]))
            check(request, Answer(200, [("MyToken", one["echo"])], b""), None, None, 0)

    def test_interference_is_recognized_without_signatures(self):
        for case in vectors("interference")["cases"]:
            expected = case["verdict"]["unsigned"]
            with self.subTest(case["name"]):
                # No request here has a condition, so a 304 is a redirect like the others.
                expected = {"unexpectedNotModified": "redirect"}.get(expected, "accepted" if expected in OF_CALLS else expected)
                if case["call"] != "conditional":
                    self.assertEqual(verdict(case, None), expected)

    def test_retry_after_is_read_as_in_the_vectors(self):
        values = vectors("interference")["retryAfter"]
        self.assertGreater(len(values), 5)
        for one in values:
            self.assertEqual(seconds(one["field"]), one["seconds"], one)

    def test_retry_after_may_be_a_date(self):
        now = 1_700_000_000
        with mock.patch("sealpost.errors.time.time", return_value=now):
            for field, expected in (
                ("Tue, 14 Nov 2023 22:15:00 GMT", 100), ("Tuesday, 14-Nov-23 22:15:00 GMT", 100), ("Tue, 14 Nov 2023 22:13:20 GMT", None),
                ("Tue, 14 Nov 99999 22:15:00 GMT", None), ("Tue, 14 Nov 2023 99:99:99 GMT", None), ("Tue, 14 Nov 2023 22:15:00", None), (" GMT", None),
            ):
                self.assertEqual(seconds(field), expected, field)


@unittest.skipUnless(importlib.util.find_spec("cryptography"), "the package cryptography is missing")
class SignatureTests(unittest.TestCase):
    def setUp(self):
        self.keys = vectors("keys")
        self.verifier = Verifier([self.keys["pinned"]["publicKey"]])

    def test_keys_and_digests_are_those_of_the_vectors(self):
        self.assertEqual(thumbprint(self.keys["pinned"]["publicKey"]), self.keys["pinned"]["keyid"])
        self.assertEqual(self.verifier.accept_signature, self.keys["acceptSignature"])
        for one in vectors("digests")["contents"]:
            body = base64.b64decode(one["bodyBase64"]) if "bodyBase64" in one else bytes(one["zeros"])
            self.assertEqual(content_digest(body), one["field"])

    def test_signed_answers_verify_and_no_changed_byte_does(self):
        signed = vectors("signatures")
        for vector in signed["vectors"]:
            # This library sends no conditions and no nonces.
            if vector["answer"]["status"] == 304 or "nonce" in vector["request"]:
                continue
            request, answer = exchange(vector)
            with self.subTest(vector["name"]):
                self.assertIsNone(self.verifier.verdict(request, answer, signed["now"]))
                for number in range(len(answer.body)):
                    changed = answer.body[:number] + bytes([answer.body[number] ^ 1]) + answer.body[number + 1:]
                    other = Answer(answer.status, answer.fields, changed)
                    self.assertEqual(self.verifier.verdict(request, other, signed["now"]), "signature")
                for member, value in (("method", "TRACE"), ("path", "/x"), ("query", "?x=1"), ("token", request.token ^ 1)):
                    other = Request(**{**vars(request), member: value})
                    self.assertEqual(self.verifier.verdict(other, answer, signed["now"]), "signature")
                self.assertEqual(self.verifier.verdict(request, Answer(299, answer.fields, answer.body), signed["now"]), "signature")
                self.assertEqual(self.verifier.verdict(request, answer, signed["now"] + 301), "wrongClock")

    def test_interference_is_recognized_by_signatures(self):
        for case in vectors("interference")["cases"]:
            expected = case["verdict"]["signed"]
            if case["call"] == "conditional" or "the version before" in case["name"] or "nonce" in case["request"]:
                continue
            with self.subTest(case["name"]):
                # The reasons of a wrong signature are one verdict here.
                expected = {"insufficientCoverage": "signature", "unexpectedNotModified": "redirect"}.get(expected, expected)
                # A redirect, also a 304, is refused before its signature.
                if case["answer"]["status"] == 304:
                    expected = "redirect"
                self.assertEqual(verdict(case, self.verifier), "accepted" if expected in OF_CALLS else expected)


if __name__ == "__main__":
    unittest.main()
