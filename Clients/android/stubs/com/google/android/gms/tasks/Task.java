package com.google.android.gms.tasks;

/** A stub for snippets, of a task that has ended. */
public abstract class Task<T> {
    final T result;

    public Task(T result) {
        this.result = result;
    }
}
