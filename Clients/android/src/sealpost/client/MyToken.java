package sealpost.client;

import java.security.SecureRandom;

/**
 * The number in a request that distinguishes the server's own answer from one that a proxy cached
 * or made up.
 *
 * <p>The answer echoes {@code n * 17 + 3}. Each request has a number of its own.
 */
final class MyToken {
    static final String FIELD = "MyToken";
    /** The greatest number whose echo fits an {@code int}. */
    static final int GREATEST = 126_322_567;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final int value;

    MyToken(int value) {
        if (value < 0 || value > GREATEST) throw new IllegalArgumentException("MyToken must be from 0 to " + GREATEST);
        this.value = value;
    }

    static MyToken random() {
        return new MyToken(RANDOM.nextInt(GREATEST + 1));
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
