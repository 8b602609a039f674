package com.facebook.react.bridge;

/** A stub for snippets. */
public interface ReadableArray {
    int size();

    String getString(int index);
}
