package sealpost.client;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Calls token providers within a deadline, on separate threads: an app's code may wait for
 * anything.
 *
 * <p>The threads of {@link Transport} stay free for the calls that a provider itself makes.
 */
final class ProviderThreads {
    private static final int THREADS = 4;

    private static final ThreadPoolExecutor POOL = new ThreadPoolExecutor(
            THREADS, THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<Runnable>(), new ThreadFactory() {
                @Override
                public Thread newThread(Runnable work) {
                    Thread thread = new Thread(work, "sealpost-token");
                    thread.setDaemon(true);
                    return thread;
                }
            });

    static {
        POOL.allowCoreThreadTimeOut(true);
    }

    private ProviderThreads() {}

    /** The provider's answer; throws and interrupts the provider when the deadline passes. */
    static @Nullable String ask(Callable<String> provider, Deadline deadline) throws PushClientException {
        FutureTask<String> task = new FutureTask<>(provider);
        POOL.execute(task);
        try {
            return task.get(deadline.remainingMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            throw Deadline.passed();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw PushClientException.of(PushClientException.Reason.DEADLINE, "the call was interrupted", interrupted);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof PushClientException) throw (PushClientException) error.getCause();
            throw PushClientException.of(PushClientException.Reason.UNAUTHORIZED, "the token provider failed", error.getCause());
        } finally {
            POOL.remove(task);
            task.cancel(true);
        }
    }
}
