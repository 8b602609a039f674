package android.app;

import android.service.notification.StatusBarNotification;

/** A stub for snippets. */
public class NotificationManager {
    public static final int IMPORTANCE_HIGH = 4;
    public static final int IMPORTANCE_MIN = 1;

    public static final java.util.List<String> shown = new java.util.ArrayList<>();

    public void createNotificationChannel(NotificationChannel channel) {}

    public void notify(String tag, int id, Notification notification) {
        shown.add(tag);
    }

    public void cancel(String tag, int id) {}

    public StatusBarNotification[] getActiveNotifications() {
        return new StatusBarNotification[0];
    }
}
