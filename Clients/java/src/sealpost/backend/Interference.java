package sealpost.backend;

/**
 * Thrown for an answer that is not the server's own answer to this request, but comes for example
 * from a proxy or a cache.
 */
public final class Interference extends SealpostException {
    private static final long serialVersionUID = 1;

    /**
     * The kind of interference, such as {@code missingEcho}; docs/evidence/vectors/README.md lists
     * the kinds.
     */
    public final String kind;
    /** The status of the answer. */
    public final int status;

    Interference(String kind, Answer answer) {
        super(
                "the answer with status " + answer.status + " is not the server's own: " + kind,
                Problem.TRANSIENT.contains(answer.status),
                answer.retryAfter(),
                null);
        this.kind = kind;
        this.status = answer.status;
    }
}
