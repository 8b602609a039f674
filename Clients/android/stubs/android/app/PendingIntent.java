package android.app;

/** A stub for snippets. */
public final class PendingIntent {
    public static final int FLAG_IMMUTABLE = 1 << 26;
    public static final int FLAG_UPDATE_CURRENT = 1 << 27;

    private PendingIntent() {}

    public static PendingIntent getActivity(
            android.content.Context context, int number, android.content.Intent intent, int flags) {
        return new PendingIntent();
    }
}
