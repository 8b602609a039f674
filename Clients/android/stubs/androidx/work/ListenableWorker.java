package androidx.work;

/** A stub for snippets. */
public abstract class ListenableWorker {
    private final android.content.Context context;

    public ListenableWorker(android.content.Context context, WorkerParameters parameters) {
        this.context = context;
    }

    public final android.content.Context getApplicationContext() {
        return context;
    }

    public final Data getInputData() {
        return new Data();
    }

    public final int getRunAttemptCount() {
        return 0;
    }

    /** A stub for snippets. */
    public abstract static class Result {
        public static Result success() {
            throw new UnsupportedOperationException();
        }

        public static Result retry() {
            throw new UnsupportedOperationException();
        }

        public static Result failure() {
            throw new UnsupportedOperationException();
        }
    }
}
