package com.google.crypto.tink.subtle;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/** A stub for snippets, which verifies with the JDK. */
public final class Ed25519Verify {
    private final byte[] key;

    public Ed25519Verify(byte[] key) {
        this.key = key;
    }

    public void verify(byte[] signature, byte[] message) throws GeneralSecurityException {
        // A SubjectPublicKeyInfo (RFC 8410).
        byte[] encoded = new BigInteger("302a300506032b6570032100", 16).shiftLeft(256).add(new BigInteger(1, key)).toByteArray();
        Signature verifier = Signature.getInstance("Ed25519");
        verifier.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded)));
        verifier.update(message);
        if (!verifier.verify(signature)) throw new GeneralSecurityException();
    }
}
