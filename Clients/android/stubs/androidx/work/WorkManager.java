package androidx.work;

/** A stub for snippets. */
public abstract class WorkManager {
    public static WorkManager getInstance(android.content.Context context) {
        throw new UnsupportedOperationException();
    }

    public abstract Object enqueueUniqueWork(String name, ExistingWorkPolicy policy, OneTimeWorkRequest request);

    public abstract Object enqueueUniquePeriodicWork(
            String name, ExistingPeriodicWorkPolicy policy, PeriodicWorkRequest request);
}
