package sealpost.client;

import androidx.annotation.Nullable;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;

/**
 * Converts uncompressed points of P-256, and ECDSA signatures in the form of r and s, 64 bytes.
 */
final class P256 {
    /** The number of bytes of a point. */
    static final int POINT = 65;

    /** The bytes of a SubjectPublicKeyInfo (RFC 5480) before its point. */
    private static final byte[] HEADER = {
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, (byte) 0x86, 0x48, (byte) 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, (byte) 0x86, 0x48,
        (byte) 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    };
    private static final BigInteger PRIME = new BigInteger("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff", 16);
    private static final BigInteger B = new BigInteger("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b", 16);

    private P256() {}

    /** The key of a point; null if the point is not on the curve. */
    static @Nullable PublicKey key(byte[] point) throws GeneralSecurityException {
        if (point.length != POINT || point[0] != 4) return null;
        BigInteger x = new BigInteger(1, Arrays.copyOfRange(point, 1, 33));
        BigInteger y = new BigInteger(1, Arrays.copyOfRange(point, 33, 65));
        // Not every provider checks this before a key agreement.
        BigInteger right = x.pow(3).subtract(x.multiply(BigInteger.valueOf(3))).add(B).mod(PRIME);
        if (x.compareTo(PRIME) >= 0 || y.compareTo(PRIME) >= 0 || !y.multiply(y).mod(PRIME).equals(right)) return null;
        return KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(join(HEADER, point)));
    }

    /** The point of a key. Throws {@code IllegalArgumentException} for a key of another curve. */
    static byte[] point(PublicKey key) {
        byte[] encoded = key.getEncoded();
        if (encoded == null || encoded.length != HEADER.length + POINT || !Arrays.equals(Arrays.copyOf(encoded, HEADER.length), HEADER)) {
            throw new IllegalArgumentException("the key is not one of the curve P-256");
        }
        return Arrays.copyOfRange(encoded, HEADER.length, encoded.length);
    }

    /** A signature in the form that Java's providers read, a sequence of two integers. */
    static byte[] toDer(byte[] raw) throws SignatureException {
        byte[] r = integer(raw, 0);
        byte[] s = integer(raw, 32);
        return join(
            new byte[] {0x30, (byte) (4 + r.length + s.length), 0x02, (byte) r.length}, r, new byte[] {0x02, (byte) s.length}, s);
    }

    private static byte[] integer(byte[] raw, int start) throws SignatureException {
        BigInteger value = new BigInteger(1, Arrays.copyOfRange(raw, start, start + 32));
        // Java 15 to 17.0.2 accepts zeros as anybody's signature of anything (CVE-2022-21449).
        if (value.signum() == 0) throw new SignatureException("the signature has a zero");
        return value.toByteArray();
    }

    /** Converts a signature that a Java provider has made. */
    static byte[] fromDer(byte[] der) {
        int first = der[3];
        return join(fixed(Arrays.copyOfRange(der, 4, 4 + first)), fixed(Arrays.copyOfRange(der, 6 + first, der.length)));
    }

    /** The last 32 bytes of a number, which may have a leading zero byte for its sign. */
    static byte[] fixed(byte[] number) {
        byte[] fixed = new byte[32];
        int length = Math.min(number.length, 32);
        System.arraycopy(number, number.length - length, fixed, 32 - length, length);
        return fixed;
    }

    static byte[] join(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) length += part.length;
        byte[] all = new byte[length];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }
}
