package sealpost.client;

import androidx.annotation.Nullable;

/** The reason why a call failed. {@link #advice} says what to tell the user. */
public final class PushClientException extends Exception {
    private static final long serialVersionUID = 1;

    public enum Reason {
        /**
         * There was no answer: the server cannot be reached, or did not answer within the deadline.
         * After the deadline, the cause is a {@link java.util.concurrent.TimeoutException}.
         */
        OFFLINE,
        /**
         * The answer or the certificate is not the server's own; {@link #interference} says which
         * check it failed.
         */
        INTERFERENCE,
        /** The password or the token is no longer valid: sign in again. */
        UNAUTHORIZED,
        /**
         * Nobody is signed in, so the client has sent no request: sign in. If this client has signed
         * out, create a new client first.
         */
        SIGNED_OUT,
        /** The server refuses for now: wait for {@link #retryAfterSeconds}. */
        BUSY,
        /** The server refuses this call; {@link #problem} says why. */
        PROBLEM,
        /**
         * The server lists other end-to-end keys for this device than its own: somebody has changed
         * them at the server. Tell the user, and call {@link Devices#setDeviceKey(String)}.
         */
        KEY_REPLACED,
        /** This call needs a registration of this device: call {@link PushClient#register} first. */
        NOT_REGISTERED,
        /**
         * Too many tasks wait in the {@link Outbox}, as after a long time without a network. The
         * outbox did not accept the new task.
         */
        OUTBOX_FULL,
        /** The store cannot be read or written, for example because the disk is full. */
        STORAGE
    }

    private final Reason reason;
    private final transient @Nullable Interference interference;
    private final transient @Nullable Problem problem;
    private final long retryAfterSeconds;

    private PushClientException(
            Reason reason,
            String message,
            @Nullable Throwable cause,
            @Nullable Interference interference,
            @Nullable Problem problem,
            long retryAfterSeconds) {
        super(message, cause);
        this.reason = reason;
        this.interference = interference;
        this.problem = problem;
        this.retryAfterSeconds = retryAfterSeconds;
    }

    /** A failure without an answer, such as {@link Reason#OFFLINE}. */
    public static PushClientException of(Reason reason, String message, @Nullable Throwable cause) {
        return new PushClientException(reason, message, cause, null, null, -1);
    }

    /** A failure because of an answer that is not the server's. */
    public static PushClientException of(Interference interference) {
        return new PushClientException(Reason.INTERFERENCE, interference.toString(), null, interference, null, -1);
    }

    /**
     * A refusal of the server.
     *
     * @param retryAfterSeconds negative if the server does not say
     */
    public static PushClientException of(Problem problem, long retryAfterSeconds) {
        Reason reason = Reason.PROBLEM;
        if (problem.status() == 401) reason = Reason.UNAUTHORIZED;
        // With 408 and `idempotency-key-in-use`, the server has not decided about the request.
        boolean isForNow = problem.status() == 408 || problem.status() == 429 || problem.status() >= 500;
        if (isForNow || problem.code().equals("idempotency-key-in-use")) reason = Reason.BUSY;
        return new PushClientException(reason, problem.toString(), null, null, problem, retryAfterSeconds);
    }

    static PushClientException signedOut() {
        return of(Reason.SIGNED_OUT, "nobody is signed in", null);
    }

    static PushClientException keyReplaced() {
        return of(Reason.KEY_REPLACED, "the server lists other keys for this device", null);
    }

    static PushClientException notRegistered() {
        return of(Reason.NOT_REGISTERED, "this device is not registered: call register first", null);
    }

    public Reason reason() {
        return reason;
    }

    /** What to tell the user. */
    public Advice advice() {
        switch (reason) {
            case INTERFERENCE:
                return interference == null ? Advice.INTERFERENCE : Advice.of(interference);
            case UNAUTHORIZED:
            case SIGNED_OUT:
                return Advice.SIGN_IN;
            case BUSY:
                return Advice.WAIT;
            case PROBLEM:
                return Advice.REFUSED;
            case KEY_REPLACED:
                return Advice.KEY_REPLACED;
            case NOT_REGISTERED:
                return Advice.APP;
            case STORAGE:
                return Advice.STORAGE;
            default:
                // The outbox is full because the device was offline for long.
                return Advice.OFFLINE;
        }
    }

    /**
     * The check that the answer failed; null if there was no answer, or it was the server's own.
     */
    public @Nullable Interference interference() {
        return interference;
    }

    /** The server's refusal; null if the server has not refused the call. */
    public @Nullable Problem problem() {
        return problem;
    }

    /** The delay that the server asks for; negative if the server does not say how long. */
    public long retryAfterSeconds() {
        return retryAfterSeconds;
    }

    /**
     * Whether the client may return the cached state: the network failed, the server is busy, or
     * the answer was not the server's own.
     */
    boolean allowsCached() {
        return reason == Reason.OFFLINE || reason == Reason.INTERFERENCE || reason == Reason.BUSY;
    }

    boolean isGone() {
        return problem != null && (problem.status() == 404 || problem.status() == 410);
    }
}
