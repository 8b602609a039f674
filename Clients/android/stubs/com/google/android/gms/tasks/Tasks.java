package com.google.android.gms.tasks;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A stub for snippets. */
public final class Tasks {
    public static <T> T await(Task<T> task) throws ExecutionException, InterruptedException {
        return task.result;
    }

    public static <T> T await(Task<T> task, long timeout, TimeUnit unit)
            throws ExecutionException, InterruptedException, TimeoutException {
        return task.result;
    }
}
