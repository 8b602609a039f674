package example;

import android.app.NotificationManager;
import android.app.PendingIntent;
import android.content.Context;
import android.content.Intent;
import android.service.notification.StatusBarNotification;
import androidx.annotation.Nullable;
import androidx.core.app.NotificationCompat;
import androidx.work.ForegroundInfo;
import androidx.work.Worker;
import androidx.work.WorkerParameters;
import com.google.android.gms.tasks.Tasks;
import com.google.firebase.messaging.FirebaseMessaging;
import java.util.Collections;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import sealpost.client.*;

public final class PushWorker extends Worker {
    static final long EVERYTHING = -1;
    /** The maximum number of attempts. After the last, the text without the payload stays. */
    private static final int TRIES = 5;

    public PushWorker(Context context, WorkerParameters parameters) {
        super(context, parameters);
    }

    @Override
    public Result doWork() {
        long id = getInputData().getLong("id", EVERYTHING);
        Store store = Push.store(getApplicationContext());
        try {
            PushClient client = Push.client(getApplicationContext());
            PushClient.finishSignOuts(Push.options(), store);
            if (id == EVERYTHING) {
                boolean isFresh = follow(client);
                register(client);
                return isFresh ? Result.success() : Result.retry();
            }
            // A read-once payload is not fetched here, but only when the user opens the message.
            // So it has no text.
            NotificationItem item = client.preview(id);
            if (item == null) {
                // Another device may have read or dismissed a notification, or the publisher may
                // have recalled it.
                cancel(Long.toString(id));
                return follow(client) ? Result.success() : Result.retry();
            }
            String text = EndToEnd.text(client, store, item);
            if (text != null) show(getApplicationContext(), id, text);
            return Result.success();
        } catch (PushClientException error) {
            return isFinal(error) || getRunAttemptCount() >= TRIES ? Result.failure() : Result.retry();
        }
    }

    /** Registers FCM's token, if it has changed or the server has retired the device. */
    static void register(PushClient client) throws PushClientException {
        String token;
        try {
            // Firebase stores its token, also one from before the app used Sealpost. For such a
            // token Firebase does not call onNewToken.
            token = Tasks.await(FirebaseMessaging.getInstance().getToken(), 10, TimeUnit.SECONDS);
        } catch (ExecutionException | InterruptedException | TimeoutException unavailable) {
            // The next start of the app and the daily run of the worker try again.
            return;
        }
        client.registerIfNeeded("fcm", token, Collections.<String>emptyList());
    }

    /** Up to level 30 an expedited work is a foreground service, and fails without its notification. */
    @Override
    public ForegroundInfo getForegroundInfo() {
        Context context = getApplicationContext();
        return new ForegroundInfo(1, new NotificationCompat.Builder(context, App.LOADING)
                .setSmallIcon(R.drawable.bell)
                .setContentTitle(context.getString(R.string.loading))
                .build());
    }

    /**
     * Whether a retry would fail, too. If the user must sign in again, or the keys of this device
     * were replaced, the app says so when it is opened.
     */
    private static boolean isFinal(PushClientException error) {
        switch (error.reason()) {
            case SIGNED_OUT:
            case UNAUTHORIZED:
            case KEY_REPLACED:
            case PROBLEM:
                return true;
            default:
                return false;
        }
    }

    /**
     * Syncs, then removes notifications that are no longer unread, and placeholders for which the
     * server has no notification. Returns whether the sync reached the server.
     */
    private boolean follow(PushClient client) throws PushClientException {
        if (!client.sync().isFresh()) return false;
        NotificationManager manager = getApplicationContext().getSystemService(NotificationManager.class);
        for (StatusBarNotification shown : manager.getActiveNotifications()) {
            // The tag of a notification for a push is the id.
            String tag = shown.getTag();
            if (tag == null || !tag.matches("[0-9]{1,18}")) continue;
            long id = Long.parseLong(tag);
            NotificationItem item = client.cachedNotification(id);
            // The client caches no read-once payload.
            if (item == null) item = client.preview(id);
            if (item == null || item.isRead()) cancel(tag);
        }
        return true;
    }

    private void cancel(String tag) {
        getApplicationContext().getSystemService(NotificationManager.class).cancel(tag, 0);
    }

    /** Shows a notification. It replaces an earlier notification with the same id. */
    static void show(Context context, long id, @Nullable String text) {
        NotificationCompat.Builder builder = new NotificationCompat.Builder(context, App.CHANNEL)
                .setSmallIcon(R.drawable.bell)
                .setContentTitle(context.getString(R.string.results))
                .setContentText(text == null ? context.getString(R.string.something_to_read) : text)
                // On the lock screen Android shows the channel's name, and not the text.
                .setVisibility(NotificationCompat.VISIBILITY_PRIVATE)
                .setContentIntent(tap(context, id))
                // The text replaces the placeholder without another sound.
                .setOnlyAlertOnce(true)
                .setAutoCancel(true);
        context.getSystemService(NotificationManager.class).notify(Long.toString(id), 0, builder.build());
    }

    /**
     * An intent that opens the message. Each pending intent has its own number, because intents
     * that differ only in their extras count as equal.
     */
    private static PendingIntent tap(Context context, long id) {
        Intent intent = new Intent(context, MessagesActivity.class).putExtra(MessagesActivity.ID, id);
        return PendingIntent.getActivity(
                context, (int) id, intent, PendingIntent.FLAG_IMMUTABLE | PendingIntent.FLAG_UPDATE_CURRENT);
    }
}
