package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/**
 * Verifies Ed25519 with {@code java.security}, where the platform has it: current versions of
 * Conscrypt, and Java 15.
 */
public final class PlatformVerifier implements Verifier {
    /** The bytes before the key's 32 bytes in a SubjectPublicKeyInfo (RFC 8410). */
    private static final byte[] PREFIX = {0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00};

    /** A valid signature over a known text, by the key of RFC 9421 appendix B.1.4. */
    private static final String SAMPLE_KEY = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";

    private static final String SAMPLE_SIGNATURE =
            "ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==";
    private static final String SAMPLE = "\"@method\": GET\n\"@path\": /demo\n\"@authority\": example.org\n"
            + "\"accept\": application/json, */*\n"
            + "\"@signature-params\": (\"@method\" \"@path\" \"@authority\" \"accept\");created=1618884473;"
            + "keyid=\"test-key-ed25519\"";

    private PlatformVerifier() {}

    /**
     * The platform's verifier; null if the platform has no Ed25519, or its verifier accepts an
     * invalid signature.
     */
    public static @Nullable Verifier find() {
        PlatformVerifier verifier = new PlatformVerifier();
        return works(verifier) ? verifier : null;
    }

    /** Whether a verifier accepts a valid signature and refuses an invalid one. */
    static boolean works(Verifier verifier) {
        byte[] key = Base64.fromUrl(SAMPLE_KEY);
        byte[] signature = Base64.fromStandard(SAMPLE_SIGNATURE);
        byte[] message = SAMPLE.getBytes(StandardCharsets.US_ASCII);
        if (key == null || signature == null || !verifier.verify(key, message, signature)) return false;
        message[0] ^= 1;
        return !verifier.verify(key, message, signature);
    }

    @Override
    public boolean verify(byte[] publicKey, byte[] message, byte[] signature) {
        try {
            byte[] encoded = new byte[PREFIX.length + publicKey.length];
            System.arraycopy(PREFIX, 0, encoded, 0, PREFIX.length);
            System.arraycopy(publicKey, 0, encoded, PREFIX.length, publicKey.length);
            PublicKey key = KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
            Signature check = Signature.getInstance("Ed25519");
            check.initVerify(key);
            check.update(message);
            return check.verify(signature);
        } catch (GeneralSecurityException | RuntimeException wrong) {
            // The signature has another length, the key is not a point, or the platform lacks the
            // algorithm.
            return false;
        }
    }
}
