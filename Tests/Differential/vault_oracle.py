"""Opens, seals and derives with the package cryptography what the vault and the index secret are to agree with.

Reads JSON lines of a data key, its number, a notification's id and either what was sealed or what is to be; writes a
line for each: the plaintext, a sealed value, and the key that is derived for a purpose.
"""

import base64
import json
import struct
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def answer(question):
    key = base64.b64decode(question["key"])
    number = question["number"]
    # One byte for the column, four for the key's number, eight each for the row's id and for who sent it.
    place = struct.pack(">BIqq", 1, number, question["id"], question["sender"])
    result = {}
    if "sealed" in question:
        sealed = base64.b64decode(question["sealed"])
        if struct.unpack(">BI", sealed[:5]) != (1, number):
            raise ValueError("another format or key")
        result["plaintext"] = AESGCM(key).decrypt(sealed[5:17], sealed[17:], place)
    if "plaintext" in question:
        nonce = base64.b64decode(question["nonce"])
        box = AESGCM(key).encrypt(nonce, base64.b64decode(question["plaintext"]), place)
        result["sealed"] = struct.pack(">BI", 1, number) + nonce + box
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"sealpost {question['purpose']}".encode())
    result["derived"] = derivation.derive(key)
    return {name: base64.b64encode(value).decode() for name, value in result.items()}


def main(source, target):
    with open(source) as questions, open(target, "w") as answers:
        for question in questions:
            answers.write(json.dumps(answer(json.loads(question))) + "\n")


main(*sys.argv[1:])
