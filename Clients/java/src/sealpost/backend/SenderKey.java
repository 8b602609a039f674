package sealpost.backend;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;

/**
 * A backend's key pair for end-to-end encryption. Devices know its public key from the app, never
 * from the server.
 */
public final class SenderKey {
    private static final String BEGIN = "-----BEGIN PRIVATE KEY-----";
    private static final String END = "-----END PRIVATE KEY-----";
    /**
     * The encoding of a key pair is {@code HEADER}, the private key's number, {@code MIDDLE}
     * and the public point (RFC 5208, RFC 5915).
     */
    private static final byte[] HEADER = {
        0x30, (byte) 0x81, (byte) 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, (byte) 0x86, 0x48, (byte) 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, (byte) 0x86, 0x48, (byte) 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04, 0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01, 0x04, 0x20,
    };

    private static final byte[] MIDDLE = {(byte) 0xA1, 0x44, 0x03, 0x42, 0x00};
    private static final int NUMBER = 32;

    final PrivateKey key;
    final byte[] point;
    private final String id;
    private final byte[] encoded;

    private SenderKey(PrivateKey key, byte[] point, byte[] encoded) {
        this.key = key;
        this.point = point;
        this.encoded = encoded;
        this.id = DeviceKey.id(point);
    }

    /** Creates a key pair. Call it once for a backend, and store the {@link #pem}. */
    public static SenderKey generate() {
        KeyPair pair = pair();
        return of(((ECPrivateKey) pair.getPrivate()).getS(), P256.point(pair.getPublic()));
    }

    static KeyPair pair() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("the platform lacks keys of P-256", missing);
        }
    }

    static SenderKey of(BigInteger number, byte[] point) {
        return read(P256.join(HEADER, P256.fixed(number.toByteArray()), MIDDLE, point));
    }

    /**
     * Reads a private key of P-256 in PKCS #8, with its public key, as {@link #pem} and OpenSSL
     * write it.
     *
     * @throws IllegalArgumentException for another text
     */
    public static SenderKey read(String pem) {
        String text = pem.strip();
        if (!text.startsWith(BEGIN) || !text.endsWith(END)) throw invalid();
        try {
            return read(Base64.getMimeDecoder().decode(text.substring(BEGIN.length(), text.length() - END.length())));
        } catch (IllegalArgumentException malformed) {
            throw invalid();
        }
    }

    private static SenderKey read(byte[] encoded) {
        int middle = HEADER.length + NUMBER;
        int start = middle + MIDDLE.length;
        if (encoded.length != start + P256.POINT
                || !Arrays.equals(Arrays.copyOf(encoded, HEADER.length), HEADER)
                || !Arrays.equals(Arrays.copyOfRange(encoded, middle, start), MIDDLE)) {
            throw invalid();
        }
        byte[] point = Arrays.copyOfRange(encoded, start, encoded.length);
        try {
            PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(encoded));
            if (!belong(key, point)) throw invalid();
            return new SenderKey(key, point, encoded);
        } catch (GeneralSecurityException unreadable) {
            throw invalid();
        }
    }

    private static boolean belong(PrivateKey key, byte[] point) throws GeneralSecurityException {
        java.security.PublicKey other = P256.key(point);
        if (other == null) return false;
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initSign(key);
        byte[] signed = signature.sign();
        signature.initVerify(other);
        return signature.verify(signed);
    }

    private static IllegalArgumentException invalid() {
        return new IllegalArgumentException(
                "a sender's key is a PEM of PKCS #8 with both keys of P-256; openssl pkcs8 -topk8 -nocrypt writes it");
    }

    /**
     * The private key as a PEM text. Protect it like the token, and never store it on the server.
     */
    public String pem() {
        String text = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(encoded);
        return BEGIN + "\n" + text + "\n" + END + "\n";
    }

    /** The public key for the app, 87 characters of base64url. */
    public String text() {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(point);
    }

    /** The id of the public key, which payloads contain. */
    public String id() {
        return id;
    }
}
