package androidx.work;

/** A stub for snippets. */
public final class WorkerParameters {}
