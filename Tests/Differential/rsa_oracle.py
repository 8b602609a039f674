"""Makes and checks RSA signatures with the package cryptography, for RSATests.

Reads JSON lines of a private key, a hash, a message and its signatures by padding; writes a line for each: the numbers
of the public key, signatures of its own, and whether those that it got are valid.
"""

import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding


def paddings(algorithm):
    size = algorithm.digest_size
    return {
        "pkcs1v15": padding.PKCS1v15(),
        "pss": padding.PSS(padding.MGF1(algorithm), size),
        "short salt": padding.PSS(padding.MGF1(algorithm), 20),
        "other mask": padding.PSS(padding.MGF1(hashes.SHA224()), size),
    }


def is_valid(key, signature, message, scheme, algorithm):
    try:
        key.verify(signature, message, scheme, algorithm)
        return True
    except InvalidSignature:
        return False


def answer(question):
    key = serialization.load_pem_private_key(question["key"].encode(), None)
    message = base64.b64decode(question["message"])
    public = key.public_key()
    numbers = public.public_numbers()
    signatures = question["signatures"]
    algorithm = getattr(hashes, question["hash"])()
    schemes = paddings(algorithm)
    return {
        "n": base64.b64encode(numbers.n.to_bytes(key.key_size // 8, "big")).decode(),
        "e": base64.b64encode(numbers.e.to_bytes(3, "big")).decode(),
        "signatures": {
            name: base64.b64encode(key.sign(message, scheme, algorithm)).decode() for name, scheme in schemes.items()
        },
        "areValid": {
            name: is_valid(public, base64.b64decode(text), message, schemes[name], algorithm)
            for name, text in signatures.items()
        },
    }


def main(source, target):
    with open(source) as questions, open(target, "w") as answers:
        for question in questions:
            answers.write(json.dumps(answer(json.loads(question))) + "\n")


main(*sys.argv[1:])
