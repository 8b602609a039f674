"""Reads JSON documents with CPython's json, in its strict mode.

Reads JSON lines with a `document` in base64; writes a line of JSON for each: its `value`, members in their order,
numbers in their digits, and strings in hexadecimal, or null if it is no JSON.
"""

import base64
import json
import sys


class Number(str):
    pass


def refuse(word):
    raise ValueError(word)


def text(string):
    return '"' + string.encode("utf-8", "surrogatepass").hex() + '"'


def plain(value):
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        return "{" + ",".join(text(name) + ":" + plain(member) for name, member in value) + "}"
    return "[" + ",".join(map(plain, value)) + "]"


def verdict(question):
    document = base64.b64decode(question["document"])
    try:
        # As text, for bytes would be taken in UTF-16, too.
        value = json.loads(
            document.decode(),
            object_pairs_hook=tuple,
            parse_int=Number,
            parse_float=Number,
            parse_constant=refuse,
        )
        return {"value": plain(value)}
    except (ValueError, RecursionError):
        return {"value": None}


def main(source, target):
    with open(source) as questions, open(target, "w") as verdicts:
        for question in questions:
            verdicts.write(json.dumps(verdict(json.loads(question))) + "\n")


# Ours, not CPython's reader, would be the first to reach the usual limit.
sys.setrecursionlimit(10_000)
main(*sys.argv[1:])
