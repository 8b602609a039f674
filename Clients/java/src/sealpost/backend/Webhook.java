package sealpost.backend;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** Verifies signed messages of Sealpost (Standard Webhooks): pushes of a sender {@code webhook}, and events. */
public final class Webhook {
    /**
     * The maximum number of bytes of a message. A longer body does not come from Sealpost: do not
     * read it.
     */
    public static final int MAXIMUM_BODY = 1 << 20;

    /**
     * The largest accepted difference between a message's time and the present time, in seconds.
     */
    private static final long TOLERANCE = 300;

    private final List<byte[]> keys = new ArrayList<>();

    /**
     * Creates a verifier from the text of a {@code secretFile}: one secret in each line, and two
     * while one secret replaces another.
     */
    public Webhook(String secrets) {
        for (String line : Objects.requireNonNull(secrets, "secrets").replaceFirst("^\uFEFF", "").split("[\r\n]")) {
            String secret = line.replaceAll("^[ \t]+|[ \t]+$", "");
            if (!secret.isEmpty()) keys.add(key(secret));
        }
        if (keys.isEmpty()) throw new IllegalArgumentException("secrets: there is no secret");
    }

    /**
     * Verifies a request, and returns its message.
     *
     * <p>Within five minutes a recorded message can be replayed: recognize repeated messages by their
     * id, and events by their number.
     *
     * @param field the value of a field, for example {@code request::getHeader}
     * @param body the bytes as received
     */
    public Message verify(Function<String, @Nullable String> field, byte[] body) throws InvalidMessage {
        return verify(field, body, System.currentTimeMillis() / 1000);
    }

    Message verify(Function<String, @Nullable String> field, byte[] body, long now) throws InvalidMessage {
        String id = value(field, "webhook-id");
        String timestamp = value(field, "webhook-timestamp");
        String[] given = value(field, "webhook-signature").split(" ");
        boolean isSigned = false;
        // All signatures are compared, so that the time does not reveal which secret has signed.
        for (byte[] key : keys) {
            byte[] expected = signature(key, id + "." + timestamp + ".", body).getBytes(StandardCharsets.UTF_8);
            for (String one : given) isSigned |= MessageDigest.isEqual(expected, one.getBytes(StandardCharsets.UTF_8));
        }
        if (!isSigned) throw new InvalidMessage("no signature is by a known secret");
        long time = Answer.number(timestamp, 12);
        if (time < 0 || Math.abs(now - time) > TOLERANCE) {
            throw new InvalidMessage("the message is too old, or the clocks differ");
        }
        try {
            return Message.read(id, Json.read(body));
        } catch (JsonException | Malformed error) {
            throw new InvalidMessage("the message is malformed: " + error.getMessage());
        }
    }

    private static String value(Function<String, @Nullable String> field, String name) {
        String value = field.apply(name);
        return value == null ? "" : value;
    }

    private static String signature(byte[] key, String prefix, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(prefix.getBytes(StandardCharsets.UTF_8));
            return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (GeneralSecurityException error) {
            throw new AssertionError("each platform has HMAC-SHA-256", error);
        }
    }

    private static byte[] key(String secret) {
        if (!secret.matches("[ -~]+")) throw new IllegalArgumentException("secrets: a line may only have ASCII characters and blanks");
        byte[] key = secret.getBytes(StandardCharsets.UTF_8);
        if (secret.startsWith("whsec_")) {
            // Accepts both alphabets of base64, with or without padding, as the server does.
            String text = secret.substring("whsec_".length()).replace('+', '-').replace('/', '_').replaceAll("=+$", "");
            try {
                key = Base64.getUrlDecoder().decode(text);
            } catch (IllegalArgumentException error) {
                // The decoder's message prints a character of the secret.
                throw new IllegalArgumentException("secrets: the text after whsec_ is not base64");
            }
        }
        if (key.length < 24) {
            throw new IllegalArgumentException("secrets: each line is whsec_ and base64, or a text, of at least 24 bytes");
        }
        return key;
    }
}
