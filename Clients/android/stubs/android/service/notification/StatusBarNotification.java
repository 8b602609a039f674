package android.service.notification;

/** A stub for snippets. */
public class StatusBarNotification {
    public String getTag() {
        return null;
    }
}
