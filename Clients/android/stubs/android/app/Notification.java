package android.app;

/** A stub for snippets. */
public class Notification {
    public static final int VISIBILITY_PRIVATE = 0;
}
