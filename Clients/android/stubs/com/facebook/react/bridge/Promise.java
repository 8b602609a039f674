package com.facebook.react.bridge;

/** A stub for snippets. */
public interface Promise {
    void resolve(Object value);

    void reject(String code, String message);
}
