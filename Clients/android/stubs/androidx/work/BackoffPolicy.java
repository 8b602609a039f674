package androidx.work;

/** A stub for snippets. */
public enum BackoffPolicy {
    EXPONENTIAL
}
