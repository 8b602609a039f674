package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Identifies a push's account on a device with several accounts: an HMAC keyed with the
 * registration id, which no push provider learns.
 */
final class AccountHint {
    private AccountHint() {}

    static String of(long notification, String registration) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(registration.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            byte[] code = mac.doFinal(("hint " + notification).getBytes(StandardCharsets.US_ASCII));
            return Base64.url(Arrays.copyOf(code, 8));
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("every platform has HMAC", missing);
        }
    }
}
