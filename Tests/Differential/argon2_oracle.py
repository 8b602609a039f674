"""Makes and checks hashes of passwords with argon2-cffi.

Reads JSON lines; writes a line of JSON for each: for a hash and two passwords, which of them match; for parameters and
a password, its hash. Passwords are base64, as they need not be text.
"""

import base64
import json
import os
import sys

from argon2.exceptions import VerifyMismatchError
from argon2.low_level import Type, hash_secret, verify_secret


def matches(phc, password):
    try:
        return verify_secret(phc.encode(), password, Type.ID)
    except VerifyMismatchError:
        return False


def answer(question):
    passwords = [base64.b64decode(text) for text in question["passwords"]]
    if "phc" in question:
        return {"matches": [matches(question["phc"], password) for password in passwords]}
    phc = hash_secret(
        passwords[0],
        os.urandom(question["saltLength"]),
        time_cost=question["passes"],
        memory_cost=question["memory"],
        parallelism=question["lanes"],
        hash_len=question["digestLength"],
        type=Type.ID,
    )
    return {"phc": phc.decode()}


def main(source, target):
    with open(source) as questions, open(target, "w") as answers:
        for question in questions:
            answers.write(json.dumps(answer(json.loads(question))) + "\n")


main(*sys.argv[1:])
