package android.app;

/** A stub for snippets. */
public class Application extends android.content.Context {
    public void onCreate() {}
}
