package android.app;

/** A stub for snippets. */
public class Activity extends android.content.Context {
    public static boolean isGone = false;

    protected void onCreate(android.os.Bundle state) {}

    protected void onResume() {}

    protected void onNewIntent(android.content.Intent intent) {}

    public android.content.Intent getIntent() {
        throw new UnsupportedOperationException();
    }

    public void setIntent(android.content.Intent intent) {}

    public void setContentView(android.view.View view) {}

    public final void runOnUiThread(Runnable action) {
        action.run();
    }

    public final void requestPermissions(String[] permissions, int request) {}

    public boolean isDestroyed() {
        return isGone;
    }
}
