package sealpost.backend;

/** An answer that is not the server's own to this request, for example of a proxy or a cache. */
public final class Interference extends SealpostException {
    private static final long serialVersionUID = 1;

    /** A word of docs/evidence/vectors/README.md, such as {@code missingEcho}. */
    public final String verdict;
    /** The status of the answer. */
    public final int status;

    Interference(String verdict, Answer answer) {
        super(
                "the answer with status " + answer.status + " is not the server's own: " + verdict,
                Problem.TRANSIENT.contains(answer.status),
                answer.retryAfter(),
                null);
        this.verdict = verdict;
        this.status = answer.status;
    }
}
