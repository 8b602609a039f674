"""Encrypts and hashes as the server does, for programs that use its database while it is stopped."""

import base64
import ctypes
import ctypes.util
import hmac
import os
import struct

from sealpost_e2e import require

PAYLOAD, NAME, HANDLE, TAGS, SECRET = 1, 2, 3, 4, 6  # The columns, as `SealedPlace` numbers them.
GET_TAG, SET_TAG = 0x10, 0x11
NONCE, TAG = 12, 16

crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))
crypto.EVP_CIPHER_CTX_new.restype = crypto.EVP_aes_256_gcm.restype = ctypes.c_void_p
CIPHER, CONTEXT = ctypes.c_void_p(crypto.EVP_aes_256_gcm()), ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())


class DataKey:
    """A keyring's first key. `other` is the sender's number, an additional binding of payloads and alerts."""

    def __init__(self, keyring):
        lines = [line.split() for line in keyring.read_text().splitlines() if line and line[0] != "#"]
        self.number, self.key = int(lines[0][0]), base64.b64decode(lines[0][1])

    def seal(self, column, row, text, other=0):
        nonce, plain = os.urandom(NONCE), text.encode()
        out, tag = ctypes.create_string_buffer(len(plain)), ctypes.create_string_buffer(TAG)
        self.run(crypto.EVP_EncryptInit_ex, crypto.EVP_EncryptUpdate, (column, self.number, row, other), nonce, plain, out)
        check(crypto.EVP_EncryptFinal_ex(CONTEXT, tag, ctypes.byref(ctypes.c_int())))
        check(crypto.EVP_CIPHER_CTX_ctrl(CONTEXT, GET_TAG, TAG, tag))
        return struct.pack(">BI", 1, self.number) + nonce + out.raw + tag.raw

    def open(self, column, row, sealed):
        """Decrypts bytes; `None` stays `None`."""
        if sealed is None:
            return None
        nonce, text, tag = sealed[5 : 5 + NONCE], sealed[5 + NONCE : -TAG], sealed[-TAG:]
        out = ctypes.create_string_buffer(len(text))
        self.run(crypto.EVP_DecryptInit_ex, crypto.EVP_DecryptUpdate, (column, self.number, row, 0), nonce, text, out)
        check(crypto.EVP_CIPHER_CTX_ctrl(CONTEXT, SET_TAG, TAG, tag))
        check(crypto.EVP_DecryptFinal_ex(CONTEXT, ctypes.create_string_buffer(TAG), ctypes.byref(ctypes.c_int())))
        return out.raw

    def run(self, begin, update, place, nonce, text, out):
        length, place = ctypes.c_int(), struct.pack(">BIqq", *place)
        check(begin(CONTEXT, CIPHER, None, self.key, nonce))
        check(update(CONTEXT, None, ctypes.byref(length), place, len(place)))
        check(update(CONTEXT, out, ctypes.byref(length), text, len(text)))


class Sealing(DataKey):
    """That key with a SQLite database's hashes; its SQL gets the functions `sealed`, `opened` and `hashed`."""

    def __init__(self, keyring, database):
        super().__init__(keyring)
        self.secret = self.open(SECRET, 1, database.execute("select secret from index_secret").fetchone()[0])
        self.keys = {}
        database.create_function("sealed", 3, self.seal)
        database.create_function("opened", 3, lambda *arguments: (self.open(*arguments) or b"").decode() or None)
        database.create_function("hashed", 2, self.hash)

    def hash(self, purpose, text):
        """HMAC-SHA-256, truncated to 16 bytes."""
        return hmac.digest(self.derive(purpose), text.encode(), "sha256")[:16]

    def derive(self, purpose):
        """The key for a purpose, derived from the secret by HKDF."""
        if purpose not in self.keys:
            extracted = hmac.digest(bytes(32), self.secret, "sha256")
            self.keys[purpose] = hmac.digest(extracted, f"sealpost {purpose}".encode() + b"\1", "sha256")
        return self.keys[purpose]


def check(result):
    require(result == 1, "an encrypted value cannot be decrypted")
