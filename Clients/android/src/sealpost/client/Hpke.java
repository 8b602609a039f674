package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.Arrays;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A context of HPKE (RFC 9180) in the mode Auth, with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and
 * AES-128-GCM, which only exports secrets.
 */
final class Hpke {
    private static final byte[] KEM = {'K', 'E', 'M', 0, 16};
    private static final byte[] SUITE = {'H', 'P', 'K', 'E', 0, 16, 0, 1, 0, 1};
    private static final byte[] VERSION = "HPKE-v1".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] EMPTY = {};

    private final byte[] exporterSecret;

    private Hpke(byte[] agreed, byte[] points, byte[] information) throws GeneralSecurityException {
        byte[] prk = extract(EMPTY, KEM, "eae_prk", agreed);
        byte[] shared = expand(prk, KEM, "shared_secret", points, 32);
        byte[] mode = {2};
        byte[] schedule = P256.join(mode, extract(EMPTY, SUITE, "psk_id_hash", EMPTY), extract(EMPTY, SUITE, "info_hash", information));
        exporterSecret = expand(extract(shared, SUITE, "secret", EMPTY), SUITE, "exp", schedule, 32);
    }

    /**
     * {@code SetupAuthR} of RFC 9180. {@code encapsulated}, {@code own} and {@code sender} are
     * points.
     */
    static Hpke receiver(byte[] encapsulated, PrivateKey key, byte[] own, byte[] sender, byte[] information)
        throws GeneralSecurityException {
        byte[] agreed = P256.join(agree(key, encapsulated), agree(key, sender));
        return new Hpke(agreed, P256.join(encapsulated, own, sender), information);
    }

    /**
     * {@code SetupAuthS} of RFC 9180. {@code encapsulated} is the point of the ephemeral key, and
     * {@code shared} is the agreement of the sender's key, whose point is {@code own}, with {@code
     * recipient}.
     */
    static Hpke sender(PrivateKey ephemeral, byte[] encapsulated, byte[] shared, byte[] own, byte[] recipient, byte[] information)
        throws GeneralSecurityException {
        byte[] agreed = P256.join(agree(ephemeral, recipient), shared);
        return new Hpke(agreed, P256.join(encapsulated, recipient, own), information);
    }

    /** Exports a secret of up to 32 bytes (RFC 9180 section 5.3). */
    byte[] export(byte[] context, int length) throws GeneralSecurityException {
        return expand(exporterSecret, SUITE, "sec", context, length);
    }

    /** The result of Diffie-Hellman with a point. */
    static byte[] agree(PrivateKey key, byte[] point) throws GeneralSecurityException {
        PublicKey other = P256.key(point);
        if (other == null) throw new GeneralSecurityException("the point is not on the curve");
        KeyAgreement agreement = KeyAgreement.getInstance("ECDH");
        agreement.init(key);
        agreement.doPhase(other, true);
        return agreement.generateSecret();
    }

    /** {@code LabeledExtract}. */
    private static byte[] extract(byte[] salt, byte[] suite, String label, byte[] value) throws GeneralSecurityException {
        byte[] key = salt.length == 0 ? new byte[32] : salt;
        return code(key, P256.join(VERSION, suite, label.getBytes(StandardCharsets.US_ASCII), value));
    }

    /** {@code LabeledExpand} of one block. */
    private static byte[] expand(byte[] key, byte[] suite, String label, byte[] information, int length) throws GeneralSecurityException {
        byte[] start = {0, (byte) length};
        byte[] end = {1};
        byte[] text = label.getBytes(StandardCharsets.US_ASCII);
        return Arrays.copyOf(code(key, P256.join(start, VERSION, suite, text, information, end)), length);
    }

    private static byte[] code(byte[] key, byte[] value) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(value);
    }
}
