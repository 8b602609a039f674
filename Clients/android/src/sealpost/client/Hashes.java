package sealpost.client;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256. */
final class Hashes {
    private Hashes() {}

    static byte[] sha256(byte[] bytes) {
        return digest().digest(bytes);
    }

    static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException("every platform has SHA-256", missing);
        }
    }
}
