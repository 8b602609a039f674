package sealpost.client;

import androidx.annotation.Nullable;

/** The reason why a call failed, grouped by the app's reaction. */
public final class PushClientException extends Exception {
    private static final long serialVersionUID = 1;

    /** The reason, with the app's reaction. */
    public enum Reason {
        /**
         * There is no network, or the server cannot be reached: show the cached state with its
         * date.
         */
        OFFLINE,
        /** The answer did not arrive within the deadline: do the same as for {@link #OFFLINE}. */
        DEADLINE,
        /**
         * Something between device and server answers in place of the server: do the same as for
         * {@link #OFFLINE}, and tell the user.
         */
        INTERFERENCE,
        /**
         * A network seems to want a sign-in first: open its page. The answer is not the server's, and
         * its status is one that captive portals use.
         */
        CAPTIVE_PORTAL,
        /** A proxy demands credentials (407): the network's settings need them. */
        PROXY,
        /** The device's clock is wrong, or the server's certificate has expired: ask the user to set the clock. */
        WRONG_CLOCK,
        /** The certificate does not belong to the server: another network may help. */
        UNTRUSTED,
        /** The password or the token is no longer valid: sign in again. */
        UNAUTHORIZED,
        /** This client has signed out: create a new client to sign in again. */
        SIGNED_OUT,
        /**
         * The server refuses for now, or a proxy before the server cannot reach it: wait for
         * {@link #retryAfterSeconds}.
         */
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
         * The store cannot be read or written, for example because the disk is full.
         */
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
        return new PushClientException(reason(interference), interference.toString(), null, interference, null, -1);
    }

    private static Reason reason(Interference interference) {
        switch (interference.kind()) {
            case WRONG_CLOCK:
                return Reason.WRONG_CLOCK;
            case UNTRUSTED_KEY:
                return Reason.UNTRUSTED;
            case REDIRECT:
                return Reason.CAPTIVE_PORTAL;
            case MISSING_ECHO:
                return reason(interference.status());
            default:
                return Reason.INTERFERENCE;
        }
    }

    /**
     * The reason for an answer without an echo, by its status. During an outage of the server its
     * load balancers answer.
     */
    private static Reason reason(int status) {
        boolean isPortal = status >= 200 && status < 400 || status == 401 || status == 403 || status == 511;
        if (isPortal) return Reason.CAPTIVE_PORTAL;
        if (status == 407) return Reason.PROXY;
        return status >= 500 || status == 429 || status == 421 || status == 408 ? Reason.BUSY : Reason.INTERFERENCE;
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
        return of(Reason.SIGNED_OUT, "this client has signed out", null);
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
        switch (reason) {
            case OFFLINE:
            case DEADLINE:
            case INTERFERENCE:
            case CAPTIVE_PORTAL:
            case PROXY:
            case WRONG_CLOCK:
            case UNTRUSTED:
            case BUSY:
                return true;
            default:
                return false;
        }
    }

    boolean isGone() {
        return problem != null && (problem.status() == 404 || problem.status() == 410);
    }
}
