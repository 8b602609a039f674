package android.app;

/** A stub for snippets. */
public class NotificationManager {
    public static final int IMPORTANCE_HIGH = 4;
    public static final int IMPORTANCE_MIN = 1;

    public void createNotificationChannel(NotificationChannel channel) {}

    public void notify(String tag, int id, Notification notification) {}

    public void cancel(String tag, int id) {}
}
