package androidx.work;

/** A stub for snippets. */
public final class ForegroundInfo {
    public ForegroundInfo(int id, android.app.Notification notification) {}
}
