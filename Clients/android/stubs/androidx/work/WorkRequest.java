package androidx.work;

import java.util.concurrent.TimeUnit;

/** A stub for snippets. */
public abstract class WorkRequest {
    /** A stub for snippets. */
    public abstract static class Builder<B, W extends WorkRequest> {
        @SuppressWarnings("unchecked")
        private B self() {
            return (B) this;
        }

        public final B setInputData(Data data) {
            return self();
        }

        public final B setConstraints(Constraints constraints) {
            return self();
        }

        public final B setBackoffCriteria(BackoffPolicy policy, long delay, TimeUnit unit) {
            return self();
        }

        public B setExpedited(OutOfQuotaPolicy policy) {
            return self();
        }

        public abstract W build();
    }
}
