package sealpost.client;

import androidx.annotation.Nullable;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import sealpost.client.UnreadablePayloadException.Reason;

/** The content of an end-to-end payload. */
public final class OpenedPayload {
    private static final String VERSION = "sealpost-e2e.1.1";
    private static final int ENTRY = DeviceKey.ID + 130;
    /**
     * The longest accepted age of a payload, in seconds: a payload can be scheduled 30 days ahead,
     * and the server then stores it for up to 30 days.
     */
    private static final long LONGEST_LIFE = 61 * 86_400;
    private static final long CLOCK_SKEW = 86_400;

    /** The result of opening one of several payloads. */
    public static final class Result {
        final @Nullable OpenedPayload opened;
        private final @Nullable Reason reason;

        Result(@Nullable OpenedPayload opened, @Nullable Reason reason) {
            this.opened = opened;
            this.reason = reason;
        }

        /** The opened payload; throws if the payload cannot be used. */
        public OpenedPayload get() throws UnreadablePayloadException {
            if (opened == null) throw new UnreadablePayloadException(reason == null ? Reason.UNREADABLE : reason);
            return opened;
        }

        /** Why the payload cannot be used; null if it can. */
        public @Nullable Reason reason() {
            return reason;
        }
    }

    private final Json payload;
    private final String message;
    private final long sentAt;

    private OpenedPayload(Json payload, String message, long sentAt) {
        this.payload = payload;
        this.message = message;
        this.sentAt = sentAt;
    }

    /** The payload that the sender has encrypted. */
    public Json payload() {
        return payload;
    }

    /**
     * The id that the sender has given the message. A dishonest server could deliver a message
     * twice: {@link PushClient#openPayload} refuses the second delivery.
     */
    public String message() {
        return message;
    }

    /**
     * When the message was sent by the sender's clock, in seconds since 1970. The id of a message
     * need not be remembered for longer than 61 days after this time.
     */
    public long sentAt() {
        return sentAt;
    }

    static OpenedPayload open(String text, DeviceKey key, PrivateKey agreement, List<String> senders, String app, long now)
        throws UnreadablePayloadException {
        String[] parts = DeviceKey.split(text);
        if (!parts[0].equals("sealpost-e2e")) throw new UnreadablePayloadException(Reason.NOT_ENCRYPTED);
        if (!text.startsWith(VERSION + ".")) throw new UnreadablePayloadException(Reason.UNSUPPORTED);
        if (parts.length != 8 || parts[3].length() != DeviceKey.ID || parts[4].length() != DeviceKey.ID || DeviceKey.time(parts[5]) < 0
            || parts[7].length() % ENTRY != 0) {
            throw new UnreadablePayloadException(Reason.MALFORMED);
        }
        byte[] sender = null;
        for (String trusted : senders) {
            byte[] point = DeviceKey.point(trusted);
            if (point != null && DeviceKey.id(point).equals(parts[3])) sender = point;
        }
        if (sender == null) throw new UnreadablePayloadException(Reason.UNKNOWN_SENDER);
        String entry = entry(key, parts[7]);
        if (entry == null) throw new UnreadablePayloadException(Reason.NOT_FOR_THIS_DEVICE);
        long sentAt = DeviceKey.time(parts[5]);
        if (now - sentAt < -CLOCK_SKEW || now - sentAt > LONGEST_LIFE) throw new UnreadablePayloadException(Reason.EXPIRED);
        byte[] wrapped = Base64.fromUrl(entry);
        byte[] content = Base64.fromUrl(parts[6]);
        byte[] encapsulated = wrapped == null ? null : DeviceKey.point(Base64.url(Arrays.copyOf(wrapped, P256.POINT)));
        if (wrapped == null || content == null || encapsulated == null) throw new UnreadablePayloadException(Reason.MALFORMED);
        byte[] plain;
        try {
            byte[] information = DeviceKey.bytes(VERSION + "\n" + key.account() + "\n" + app);
            Hpke receiver = Hpke.receiver(encapsulated, agreement, key.agreement, sender, information);
            String front = text.substring(0, text.length() - parts[7].length() - 1);
            byte[] wrapping = receiver.export(Hashes.sha256(DeviceKey.bytes(front)), 16);
            byte[] contentKey = decrypt(wrapping, Arrays.copyOfRange(wrapped, P256.POINT, wrapped.length), "");
            plain = decrypt(contentKey, content, front.substring(0, front.length() - parts[6].length() - 1));
        } catch (GeneralSecurityException changed) {
            throw new UnreadablePayloadException(Reason.UNREADABLE);
        }
        int end = plain.length - 1;
        while (end >= 0 && plain[end] == 0) end--;
        if (end < 0 || plain[end] != (byte) 128) throw new UnreadablePayloadException(Reason.MALFORMED);
        try {
            return new OpenedPayload(Json.read(Arrays.copyOf(plain, end)), parts[4], sentAt);
        } catch (JsonException invalid) {
            throw new UnreadablePayloadException(Reason.MALFORMED);
        }
    }

    private static @Nullable String entry(DeviceKey key, String entries) {
        for (int start = 0; start < entries.length(); start += ENTRY) {
            if (entries.startsWith(key.id(), start)) return entries.substring(start + DeviceKey.ID, start + ENTRY);
        }
        return null;
    }

    /** The nonce is all zeros, since each key encrypts only one text. */
    private static byte[] decrypt(byte[] key, byte[] content, String header) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, new byte[12]));
        cipher.updateAAD(DeviceKey.bytes(header));
        return cipher.doFinal(content);
    }
}
