"""Finds a word in bytes, in whatever disguise it may have got there."""

import base64
import functools
import re


def find(bytes, word):
    """Where the word is, in any of its disguises, with what is around it."""
    return [bytes[max(0, match.start() - 60) : match.end() + 60] for form in forms(word) for match in form.finditer(bytes)]


@functools.cache
def forms(word):
    text = word.encode()
    spellings = [text, text.hex().encode(), b"".join(b"%%%02x" % byte for byte in text)]
    spellings += [b"".join(b"\\u%04x" % byte for byte in text), word.encode("utf-16-le"), word.encode("utf-16-be")]
    # base64 and base64url are the same for letters, which begin at one of three places.
    return [re.compile(re.escape(spelling), re.I) for spelling in spellings] + [
        re.compile(re.escape(core)) for core in encodings(text)
    ]


def encodings(text):
    """What is sure of a text in base64, wherever it begins: the characters at both ends depend on what is around it."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + text)
        yield encoded[-(-offset * 8 // 6) : (offset + len(text)) * 8 // 6]


def check(word, other):
    """A search that finds nothing must be one that can find."""
    letters = word.encode()
    disguises = [word.upper(), letters.hex().upper(), f'"x{word}"', "".join(f"%{letter:02X}" for letter in letters)]
    disguises += [base64.b64encode(b"x" * length + letters + b"yz").decode() for length in range(7)]
    disguises += [base64.urlsafe_b64encode(b"\xff\xfe" * length + letters).decode() for length in range(4)]
    disguises += ["".join(f"\\u{letter:04X}" for letter in letters)]
    for text in [text.encode() for text in disguises] + [word.encode("utf-16"), word.encode("utf-16-be")]:
        if not find(text, word) or find(text, other):
            raise SystemExit(f"the search does not tell {text}")
