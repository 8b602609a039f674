"""Decrypts messages with http_ece and verifies their tokens with py_vapid.

Reads JSON lines of what a sender has sent and of what only the browser knows; writes a line of JSON for each: the
plaintext, and the claims of the token, or what is wrong.
"""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from py_vapid import Vapid02


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verdict(message):
    plaintext = http_ece.decrypt(
        decode(message["body"]),
        private_key=load_pem_private_key(message["privateKey"].encode(), None),
        auth_secret=decode(message["secret"]),
        version="aes128gcm",
    )
    # py_vapid takes no blank between the parameters, which RFC 9110 section 11.4 allows.
    authorization = message["authorization"].replace(", ", ",")
    if not Vapid02.verify(authorization):
        raise ValueError("the token is not signed by its key")
    claims = authorization.split("t=")[1].split(",")[0].split(".")[1]
    return {"plaintext": plaintext.decode(), "claims": decode(claims).decode()}


def main(source, target):
    with open(source) as messages, open(target, "w") as verdicts:
        for message in messages:
            try:
                result = verdict(json.loads(message))
            except Exception as error:  # Whatever it is, it is the verdict.
                result = {"error": repr(error)}
            verdicts.write(json.dumps(result) + "\n")


main(*sys.argv[1:])
