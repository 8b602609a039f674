"""Verifies and makes signatures with http_message_signatures, and reads dictionaries with http_sf.

Reads JSON lines; writes a line of JSON for each. A line with `dictionary` is answered with how that is written, or null
if it is none. All others are answers to requests, with the list of components that a signature covers: one with `seed`
is signed and comes back with its fields, any other is verified. Whatever is wrong comes back as `error`.
"""

import base64
import datetime
import hashlib
import json
import sys

import http_sf
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from http_message_signatures.structures import CaseInsensitiveDict

TOLERANCE = datetime.timedelta(minutes=5)


class Request:
    def __init__(self, question):
        self.method = question["method"]
        self.url = "http://localhost" + question["target"]
        self.headers = CaseInsensitiveDict({"mytoken": question["token"]})


class Answer:
    def __init__(self, question):
        self.status_code = question["status"]
        self.headers = CaseInsensitiveDict(question["fields"])
        self.request = Request(question)


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, question):
        self.question = question

    def resolve_public_key(self, key_id):
        if key_id != self.question["keyID"]:
            raise ValueError("another key")
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(self.question["key"]))

    def resolve_private_key(self, key_id):
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(self.question["seed"]))


def sign(question):
    answer = Answer(question)
    if question["status"] != 304:
        digest = hashlib.sha256(base64.b64decode(question["body"])).digest()
        answer.headers["Content-Digest"] = http_sf.ser({"sha-256": (digest, {})})
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys(question))
    signer.sign(
        answer,
        key_id=question["keyID"],
        created=datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0),
        covered_component_ids=question["components"],
        use_existing_digest=question["status"] != 304,
    )
    return {"fields": dict(answer.headers.items())}


def verify(question):
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys(question))
    verifier.max_clock_skew = TOLERANCE
    body = None if question["status"] == 304 else base64.b64decode(question["body"])
    verifier.verify(Answer(question), max_age=TOLERANCE, require_components=question["components"], body=body)
    return {}


def read(field):
    try:
        return {"written": http_sf.ser(http_sf.parse(field.encode(), tltype="dictionary"))}
    except Exception:  # It is none, for whatever reason.
        return {"written": None}


def verdict(question):
    if "dictionary" in question:
        return read(question["dictionary"])
    return sign(question) if question.get("seed") else verify(question)


def main(source, target):
    with open(source) as questions, open(target, "w") as verdicts:
        for question in questions:
            try:
                result = verdict(json.loads(question))
            except Exception as error:  # Whatever it is, it is the verdict.
                result = {"error": repr(error)}
            verdicts.write(json.dumps(result) + "\n")


main(*sys.argv[1:])
