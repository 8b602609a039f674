package io.flutter.plugin.common;

/** A stub for snippets. */
public final class MethodCall {
    public final String method = "";

    public <T> T arguments() {
        throw new UnsupportedOperationException();
    }
}
