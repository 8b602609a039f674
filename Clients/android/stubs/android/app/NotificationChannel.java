package android.app;

/** A stub for snippets. */
public final class NotificationChannel {
    public NotificationChannel(String id, CharSequence name, int importance) {}

    public void setLockscreenVisibility(int visibility) {}
}
