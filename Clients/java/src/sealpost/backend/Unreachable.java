package sealpost.backend;

import org.jspecify.annotations.Nullable;

/** Thrown if no complete answer has arrived in time. The request may have taken effect. */
public final class Unreachable extends SealpostException {
    private static final long serialVersionUID = 1;

    Unreachable(String message, boolean isTransient, @Nullable Throwable cause) {
        super(message, isTransient, null, cause);
    }
}
