package sealpost.client;

/** The reason why the client refuses an answer's signature. */
final class SignatureFailure extends Exception {
    private static final long serialVersionUID = 1;

    /** The kind of failure. */
    enum Reason {
        /** The signature covers fewer components than the client requires. */
        INSUFFICIENT_COVERAGE,
        /** The signature is valid, but its time is too far before or after the device's time. */
        STALE,
        /** The signature is missing, malformed or wrong. */
        OTHER
    }

    final Reason reason;

    SignatureFailure(Reason reason, String description) {
        super(description);
        this.reason = reason;
    }
}
