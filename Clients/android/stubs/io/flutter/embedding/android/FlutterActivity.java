package io.flutter.embedding.android;

/** A stub for snippets. */
public class FlutterActivity extends android.app.Activity {
    public void configureFlutterEngine(io.flutter.embedding.engine.FlutterEngine engine) {}
}
