package io.flutter.embedding.engine.dart;

/** A stub for snippets. */
public class DartExecutor {
    public io.flutter.plugin.common.BinaryMessenger getBinaryMessenger() {
        throw new UnsupportedOperationException();
    }
}
