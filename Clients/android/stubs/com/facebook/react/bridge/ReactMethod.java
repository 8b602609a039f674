package com.facebook.react.bridge;

/** A stub for snippets. */
public @interface ReactMethod {}
