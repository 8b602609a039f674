package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Date;

/**
 * A value from the server or from the cache. A cached value has its date, because it may be out of
 * date.
 */
public final class Fetched<T> {
    private final T value;
    private final @Nullable Date date;
    private final @Nullable PushClientException failure;

    private Fetched(T value, @Nullable Date date, @Nullable PushClientException failure) {
        this.value = value;
        this.date = date;
        this.failure = failure;
    }

    /** A value that the server has just sent. */
    public static <T> Fetched<T> fresh(T value) {
        return new Fetched<>(value, null, null);
    }

    /** A cached value with its date, and the reason why it is not fresh. */
    public static <T> Fetched<T> cached(T value, @Nullable Date date, PushClientException failure) {
        return new Fetched<>(value, date, failure);
    }

    public T value() {
        return value;
    }

    /** Whether the server has just sent the value or confirmed that it is unchanged. */
    public boolean isFresh() {
        return failure == null;
    }

    /**
     * When the server last confirmed a cached value; null for a fresh value, and for an incomplete
     * inbox.
     */
    public @Nullable Date date() {
        return date;
    }

    /** The reason why the value is not fresh; null for a fresh value. */
    public @Nullable PushClientException failure() {
        return failure;
    }
}
