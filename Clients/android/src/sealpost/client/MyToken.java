package sealpost.client;

import androidx.annotation.Nullable;
import java.security.SecureRandom;

/**
 * The number in a request by which the client recognizes the server's own answer, and not one that
 * a proxy has cached or invented. It also has the nonce for the answer's signature.
 *
 * <p>The answer echoes {@code n * 17 + 3}. Each request has a number and a nonce of its own.
 */
final class MyToken {
    static final String FIELD = "MyToken";
    /** The greatest number whose echo fits an {@code int}. */
    static final int GREATEST = 126_322_567;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final int value;
    private final @Nullable String nonce;

    MyToken(int value) {
        this(value, null);
    }

    MyToken(int value, @Nullable String nonce) {
        if (value < 0 || value > GREATEST) throw new IllegalArgumentException("MyToken must be from 0 to " + GREATEST);
        this.value = value;
        this.nonce = nonce;
    }

    static MyToken random() {
        byte[] nonce = new byte[16];
        RANDOM.nextBytes(nonce);
        return new MyToken(RANDOM.nextInt(GREATEST + 1), Base64.url(nonce));
    }

    /** A text of 128 random bits; null if the request has no nonce. */
    @Nullable String nonce() {
        return nonce;
    }

    /** The server's echo, in decimal. */
    String echo() {
        return Integer.toString(value * 17 + 3);
    }

    @Override
    public String toString() {
        return Integer.toString(value);
    }
}
