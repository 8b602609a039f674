package androidx.work;

import java.util.concurrent.TimeUnit;

/** A stub for snippets. */
public final class PeriodicWorkRequest extends WorkRequest {
    /** A stub for snippets. */
    public static final class Builder extends WorkRequest.Builder<Builder, PeriodicWorkRequest> {
        public Builder(Class<? extends ListenableWorker> worker, long interval, TimeUnit unit) {}

        @Override
        public PeriodicWorkRequest build() {
            return new PeriodicWorkRequest();
        }
    }
}
