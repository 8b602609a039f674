package androidx.work;

/** A stub for snippets. */
public enum OutOfQuotaPolicy {
    RUN_AS_NON_EXPEDITED_WORK_REQUEST
}
