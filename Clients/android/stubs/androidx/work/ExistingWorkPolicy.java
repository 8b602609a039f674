package androidx.work;

/** A stub for snippets. */
public enum ExistingWorkPolicy {
    KEEP,
    REPLACE
}
