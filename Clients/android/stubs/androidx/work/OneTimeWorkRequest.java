package androidx.work;

/** A stub for snippets. */
public final class OneTimeWorkRequest extends WorkRequest {
    /** A stub for snippets. */
    public static final class Builder extends WorkRequest.Builder<Builder, OneTimeWorkRequest> {
        public Builder(Class<? extends ListenableWorker> worker) {}

        @Override
        public OneTimeWorkRequest build() {
            return new OneTimeWorkRequest();
        }
    }
}
