package sealpost.backend;

import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A refusal of the server. */
public final class Problem extends SealpostException {
    private static final long serialVersionUID = 1;
    private static final String PREFIX = "urn:sealpost:problem:";
    /** The statuses after which a repetition of the request may succeed. */
    static final Set<Integer> TRANSIENT = Set.of(408, 429, 500, 502, 503, 504, 507);

    /** The status of the answer, or of an element of a batch. */
    public final int status;
    /** A code of docs/errors.md, such as {@link ProblemCode#UNKNOWN_USER}. */
    public final String code;
    /** The cause of this error, as a text for people. */
    public final @Nullable String detail;
    /** The request's id, which is in the server's log. */
    public final @Nullable String instance;

    private Problem(Members problem, String code, @Nullable Duration retryAfter) {
        super(
                problem.number("status") + " " + PREFIX + code + ": " + problem.textOr("detail", problem.textOr("title", "")),
                TRANSIENT.contains(problem.status()) || code.equals("idempotency-key-in-use"),
                retryAfter,
                null);
        this.status = problem.status();
        this.code = code;
        this.detail = problem.textOr("detail", null);
        this.instance = problem.textOr("instance", null);
    }

    /**
     * Reads the error from a problem's JSON. Throws unless the JSON is a problem of Sealpost with
     * this status.
     */
    static Problem read(@Nullable Json json, int status, @Nullable Duration retryAfter) {
        Members problem = new Members(json);
        String type = problem.text("type");
        if (problem.status() != status || !type.startsWith(PREFIX)) throw new Malformed("not a problem of Sealpost");
        return new Problem(problem, type.substring(PREFIX.length()), retryAfter);
    }
}
