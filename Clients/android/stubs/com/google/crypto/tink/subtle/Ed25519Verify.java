package com.google.crypto.tink.subtle;

/** A stub for snippets. */
public final class Ed25519Verify {
    public Ed25519Verify(byte[] publicKey) {}

    public void verify(byte[] signature, byte[] data) throws java.security.GeneralSecurityException {}
}
