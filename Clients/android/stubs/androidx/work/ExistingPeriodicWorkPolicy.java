package androidx.work;

/** A stub for snippets. */
public enum ExistingPeriodicWorkPolicy {
    KEEP
}
