package android.app;

/** A stub for snippets. */
public abstract class Application extends android.content.Context {
    public void onCreate() {}
}
