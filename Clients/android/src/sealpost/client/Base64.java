package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Base64 (RFC 4648) with exactly one text for each value; {@code java.util.Base64} needs API level
 * 26.
 */
final class Base64 {
    private static final String STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    private static final String URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    private Base64() {}

    /** The standard alphabet, with padding. */
    static String standard(byte[] bytes) {
        StringBuilder text = encode(bytes, STANDARD);
        while (text.length() % 4 != 0) text.append('=');
        return text.toString();
    }

    /** The alphabet for names and URLs, without padding. */
    static String url(byte[] bytes) {
        return encode(bytes, URL).toString();
    }

    /**
     * The bytes of padded text; null for another alphabet, missing padding, or spare bits that are
     * not zero.
     */
    static @Nullable byte[] fromStandard(String text) {
        if (text.length() % 4 != 0) return null;
        int end = text.length();
        while (end > 0 && text.length() - end < 2 && text.charAt(end - 1) == '=') end--;
        byte[] bytes = decode(text.substring(0, end), STANDARD);
        return bytes != null && standard(bytes).equals(text) ? bytes : null;
    }

    /** The bytes of text without padding, or null. */
    static @Nullable byte[] fromUrl(String text) {
        byte[] bytes = decode(text, URL);
        return bytes != null && url(bytes).equals(text) ? bytes : null;
    }

    private static StringBuilder encode(byte[] bytes, String alphabet) {
        StringBuilder text = new StringBuilder(bytes.length * 4 / 3 + 4);
        int bits = 0;
        int count = 0;
        for (byte next : bytes) {
            bits = bits << 8 | next & 0xFF;
            for (count += 8; count >= 6; count -= 6) text.append(alphabet.charAt(bits >> count - 6 & 63));
            bits &= (1 << count) - 1;
        }
        if (count > 0) text.append(alphabet.charAt(bits << 6 - count & 63));
        return text;
    }

    private static @Nullable byte[] decode(String text, String alphabet) {
        byte[] bytes = new byte[text.length()];
        int bits = 0;
        int count = 0;
        int length = 0;
        for (byte next : text.getBytes(StandardCharsets.UTF_8)) {
            int value = alphabet.indexOf(next & 0xFF);
            if (value < 0) return null;
            bits = bits << 6 | value;
            count += 6;
            if (count >= 8) {
                count -= 8;
                bytes[length++] = (byte) (bits >> count);
                bits &= (1 << count) - 1;
            }
        }
        return Arrays.copyOf(bytes, length);
    }
}
