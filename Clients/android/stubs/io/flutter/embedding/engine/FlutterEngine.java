package io.flutter.embedding.engine;

/** A stub for snippets. */
public class FlutterEngine {
    public io.flutter.embedding.engine.dart.DartExecutor getDartExecutor() {
        throw new UnsupportedOperationException();
    }
}
