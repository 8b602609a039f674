package com.facebook.react.bridge;

/** A stub for snippets. */
public abstract class ReactContextBaseJavaModule implements NativeModule {
    public ReactContextBaseJavaModule(ReactApplicationContext context) {}

    protected final ReactApplicationContext getReactApplicationContext() {
        throw new UnsupportedOperationException();
    }
}
