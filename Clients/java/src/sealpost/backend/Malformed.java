package sealpost.backend;

/** JSON of another form than the caller's. */
final class Malformed extends RuntimeException {
    private static final long serialVersionUID = 1;

    Malformed(String message) {
        super(message);
    }
}
