package sealpost.client;

/** A text that is not JSON. */
public final class JsonException extends Exception {
    private static final long serialVersionUID = 1;

    JsonException(String reason, int offset) {
        super(reason + " at byte " + offset);
    }
}
