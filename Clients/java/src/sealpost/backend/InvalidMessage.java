package sealpost.backend;

/** Thrown if a message is unsigned, changed, too old or malformed: answer 401 and do nothing. */
public final class InvalidMessage extends Exception {
    private static final long serialVersionUID = 1;

    InvalidMessage(String message) {
        super(message);
    }
}
