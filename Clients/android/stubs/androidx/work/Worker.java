package androidx.work;

/** A stub for snippets. */
public abstract class Worker extends ListenableWorker {
    public Worker(android.content.Context context, WorkerParameters parameters) {
        super(context, parameters);
    }

    public abstract Result doWork();

    /**
     * Abstract only here: Android's throws, but only on versions up to 11, so a worker without it
     * must not compile.
     */
    public abstract ForegroundInfo getForegroundInfo();
}
