package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.Signature;
import java.util.Arrays;
import java.util.Locale;
import sealpost.client.UnreadablePayloadException.Reason;

/** The public keys of a device for end-to-end encryption, as the device has registered them. */
public final class DeviceKey {
    static final int ID = 22;
    private static final int SIGNATURE = 86;

    final String body;
    final byte[] signing;
    final byte[] agreement;
    final long madeAt;
    private final String approvals;
    private final String text;
    private final String account;
    private final String id;

    /**
     * Reads the text of the keys that a device has registered.
     *
     * @throws UnreadablePayloadException if the text is malformed, or the device's own signature
     * is wrong
     */
    public DeviceKey(String text) throws UnreadablePayloadException {
        String[] parts = text.length() <= 2048 ? split(text) : new String[0];
        byte[] signing = parts.length == 8 ? point(parts[3]) : null;
        byte[] agreement = parts.length == 8 ? point(parts[4]) : null;
        if (signing == null || agreement == null || !(parts[0] + "." + parts[1]).equals("sealpost-key.1") || parts[2].length() != ID
            || time(parts[5]) < 0 || parts[7].length() % (ID + SIGNATURE) != 0) {
            throw new UnreadablePayloadException(Reason.MALFORMED);
        }
        this.text = text;
        this.account = parts[2];
        this.signing = signing;
        this.agreement = agreement;
        this.madeAt = time(parts[5]);
        this.approvals = parts[7];
        this.body = text.substring(0, text.length() - parts[6].length() - parts[7].length() - 2);
        this.id = id(bytes(body));
        byte[] own = Base64.fromUrl(parts[6]);
        if (own == null || own.length != 64) throw new UnreadablePayloadException(Reason.MALFORMED);
        if (!verifies(signing, own, "own")) throw new UnreadablePayloadException(Reason.SIGNATURE);
    }

    /**
     * The keys as the server stores them: a text with the device's public keys and the approvals
     * by other devices.
     */
    public String text() {
        return text;
    }

    /** The identifier of the account that the device belongs to. */
    public String account() {
        return account;
    }

    /**
     * The id of these keys: payloads name it with the content key that they contain for this
     * device.
     */
    public String id() {
        return id;
    }

    /** A digest of the keys in 30 digits, which people can compare on two screens. */
    public String fingerprint() {
        byte[] digest = Hashes.sha256(bytes("sealpost-fingerprint\n" + body));
        StringBuilder digits = new StringBuilder();
        for (int start = 0; start < 30; start += 5) {
            long number = 0;
            for (int index = start; index < start + 5; index++) number = number << 8 | digest[index] & 0xFF;
            digits.append(start == 0 ? "" : " ").append(String.format(Locale.ROOT, "%05d", number % 100_000));
        }
        return digits.toString();
    }

    /** Whether any device has approved these keys. */
    boolean hasApprovals() {
        return !approvals.isEmpty();
    }

    /** Whether the device with that id and verification key has signed these keys. */
    boolean isApproved(String by, byte[] key) {
        if (by.equals(id)) return false;
        for (int start = 0; start < approvals.length(); start += ID + SIGNATURE) {
            if (!approvals.startsWith(by, start)) continue;
            byte[] signature = Base64.fromUrl(approvals.substring(start + ID, start + ID + SIGNATURE));
            if (signature != null && verifies(key, signature, "approve")) return true;
        }
        return false;
    }

    private boolean verifies(byte[] signing, byte[] signature, String purpose) {
        try {
            Signature verifier = Signature.getInstance("SHA256withECDSA");
            verifier.initVerify(P256.key(signing));
            verifier.update(signed(purpose, body));
            return verifier.verify(P256.toDer(signature));
        } catch (GeneralSecurityException invalid) {
            return false;
        }
    }

    static byte[] signed(String purpose, String body) {
        return bytes("sealpost-" + purpose + "\n" + body);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String id(byte[] value) {
        return Base64.url(Arrays.copyOf(Hashes.sha256(value), 16));
    }

    /** Splits a text at its dots, into at most nine parts: a valid text has fewer. */
    static String[] split(String text) {
        return text.split("\\.", 9);
    }

    /** A point on the curve; null for another text. */
    static @Nullable byte[] point(String text) {
        try {
            byte[] point = Base64.fromUrl(text);
            PublicKey key = point == null ? null : P256.key(point);
            return key == null ? null : point;
        } catch (GeneralSecurityException invalid) {
            return null;
        }
    }

    /** Seconds since 1970, in up to ten digits without leading zeros; -1 for another text. */
    static long time(String text) {
        if (text.isEmpty() || text.length() > 10 || (text.length() > 1 && text.charAt(0) == '0')) return -1;
        long time = 0;
        for (int index = 0; index < text.length(); index++) {
            int digit = text.charAt(index) - '0';
            if (digit < 0 || digit > 9) return -1;
            time = time * 10 + digit;
        }
        return time;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DeviceKey && text.equals(((DeviceKey) other).text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }
}
