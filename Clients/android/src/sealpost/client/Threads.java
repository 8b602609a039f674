package sealpost.client;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs requests and token providers within a deadline, each on a thread of its own.
 *
 * <p>A name lookup that hangs cannot be interrupted: its thread ends only with the lookup. So no
 * task waits for a free thread. If the maximum number of threads is in use, a task fails at once.
 */
final class Threads {
    private static final int MAXIMUM = 256;
    private static final long IDLE_SECONDS = 5;

    private static final ThreadPoolExecutor POOL = new ThreadPoolExecutor(
            0, MAXIMUM, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<Runnable>(), new ThreadFactory() {
                @Override
                public Thread newThread(Runnable work) {
                    Thread thread = new Thread(work, "sealpost");
                    thread.setDaemon(true);
                    return thread;
                }
            });

    private Threads() {}

    /** Ends a task from another thread, when its caller no longer waits. */
    interface Cancellation {
        void run();
    }

    /** The result of a task. When the deadline passes, calls the cancellation and throws. */
    static <R> R result(FutureTask<R> task, Deadline deadline, Cancellation cancellation)
            throws PushClientException, ExecutionException {
        long millis = deadline.remainingMillis();
        try {
            POOL.execute(task);
            return task.get(millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException full) {
            throw PushClientException.of(
                    PushClientException.Reason.OFFLINE, MAXIMUM + " earlier requests hang; try again later", full);
        } catch (TimeoutException late) {
            cancellation.run();
            throw Deadline.passed();
        } catch (InterruptedException interrupted) {
            cancellation.run();
            Thread.currentThread().interrupt();
            throw PushClientException.of(PushClientException.Reason.OFFLINE, "the call was interrupted", interrupted);
        }
    }
}
