package sealpost.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/** The time at which a call fails, whatever the call is waiting for. */
final class Deadline {
    private final long end;

    Deadline(long millis) {
        // A longer limit, of more than 292 years, would overflow.
        end = System.nanoTime() + Math.min(millis, Long.MAX_VALUE / 1_000_000) * 1_000_000;
    }

    /** The remaining time in milliseconds; throws if the deadline has passed. */
    int remainingMillis() throws PushClientException {
        long left = (end - System.nanoTime()) / 1_000_000;
        if (left <= 0) throw passed();
        return (int) Math.min(left, Integer.MAX_VALUE);
    }

    /** Acquires a lock; throws if the deadline passes before that, or the thread is interrupted. */
    void acquire(ReentrantLock lock) throws PushClientException {
        try {
            if (!lock.tryLock(remainingMillis(), TimeUnit.MILLISECONDS)) throw passed();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw PushClientException.of(PushClientException.Reason.OFFLINE, "the call was interrupted", interrupted);
        }
    }

    static PushClientException passed() {
        String message = "the answer did not come within the deadline";
        return PushClientException.of(PushClientException.Reason.OFFLINE, message, new TimeoutException(message));
    }
}
