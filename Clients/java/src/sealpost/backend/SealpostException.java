package sealpost.backend;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Thrown by a call that the server has not confirmed as successful. */
public abstract class SealpostException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Whether a later repetition of the call may succeed. */
    public final boolean isTransient;
    /** How long the server asks to wait before a repetition. */
    public final @Nullable Duration retryAfter;

    private @Nullable String idempotencyKey;

    SealpostException(String message, boolean isTransient, @Nullable Duration retryAfter, @Nullable Throwable cause) {
        super(message, cause);
        this.isTransient = isTransient;
        this.retryAfter = retryAfter;
    }

    /**
     * The idempotency key of a failed post. A repetition with this key within 24 hours sends
     * nothing twice.
     */
    public final @Nullable String idempotencyKey() {
        return idempotencyKey;
    }

    final SealpostException withKey(@Nullable String key) {
        idempotencyKey = key;
        return this;
    }
}
