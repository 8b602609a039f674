package androidx.work;

/** A stub for snippets. */
public abstract class Worker extends ListenableWorker {
    public Worker(android.content.Context context, WorkerParameters parameters) {
        super(context, parameters);
    }

    public abstract Result doWork();
}
