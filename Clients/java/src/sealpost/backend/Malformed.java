package sealpost.backend;

/** Thrown for JSON of another form than the caller expects. */
final class Malformed extends RuntimeException {
    private static final long serialVersionUID = 1;

    Malformed(String message) {
        super(message);
    }
}
