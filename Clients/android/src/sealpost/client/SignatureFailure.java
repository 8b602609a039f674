package sealpost.client;

/** Why an answer's signature is not what was asked for. */
final class SignatureFailure extends Exception {
    private static final long serialVersionUID = 1;

    /** What the client makes of it. */
    enum Reason {
        /** Made for less than the demanded components. */
        INSUFFICIENT_COVERAGE,
        /** Right in all, but made too long before or after the device's time. */
        STALE,
        /** Missing, malformed or wrong. */
        OTHER
    }

    final Reason reason;

    SignatureFailure(Reason reason, String description) {
        super(description);
        this.reason = reason;
    }
}
