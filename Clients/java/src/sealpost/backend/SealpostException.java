package sealpost.backend;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A call without the server's success. */
public abstract class SealpostException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Whether a later repetition may succeed. */
    public final boolean isTransient;
    /** The time that the server asks to wait. */
    public final @Nullable Duration retryAfter;

    private @Nullable String idempotencyKey;

    SealpostException(String message, boolean isTransient, @Nullable Duration retryAfter, @Nullable Throwable cause) {
        super(message, cause);
        this.isTransient = isTransient;
        this.retryAfter = retryAfter;
    }

    /** The key of a failed post. A repetition with it, within 24 hours, sends nothing twice. */
    public final @Nullable String idempotencyKey() {
        return idempotencyKey;
    }

    final SealpostException withKey(@Nullable String key) {
        idempotencyKey = key;
        return this;
    }
}
