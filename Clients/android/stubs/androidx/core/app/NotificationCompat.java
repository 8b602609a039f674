package androidx.core.app;

/** A stub for snippets. */
public class NotificationCompat {
    public static final int VISIBILITY_PRIVATE = 0;

    /** A stub for snippets. */
    public static class Builder {
        public Builder(android.content.Context context, String channel) {}

        public Builder setSmallIcon(int icon) {
            return this;
        }

        public Builder setContentTitle(CharSequence text) {
            return this;
        }

        public Builder setContentText(CharSequence text) {
            return this;
        }

        public Builder setVisibility(int visibility) {
            return this;
        }

        public Builder setContentIntent(android.app.PendingIntent intent) {
            return this;
        }

        public Builder setOnlyAlertOnce(boolean value) {
            return this;
        }

        public Builder setAutoCancel(boolean value) {
            return this;
        }

        public android.app.Notification build() {
            return new android.app.Notification();
        }
    }
}
