package example;

import androidx.work.BackoffPolicy;
import androidx.work.Constraints;
import androidx.work.Data;
import androidx.work.ExistingWorkPolicy;
import androidx.work.NetworkType;
import androidx.work.OneTimeWorkRequest;
import androidx.work.OutOfQuotaPolicy;
import androidx.work.WorkManager;
import com.google.firebase.messaging.FirebaseMessagingService;
import com.google.firebase.messaging.RemoteMessage;
import java.util.concurrent.TimeUnit;
import sealpost.client.*;

public final class PushService extends FirebaseMessagingService {
    @Override
    public void onMessageReceived(RemoteMessage message) {
        PushMessage push = PushMessage.read(message.getData());
        // A push of normal priority may only mean that another device has made a change.
        boolean isShown = message.getPriority() == RemoteMessage.PRIORITY_HIGH;
        try {
            // On a shared device a push may be for another account.
            if (push == null || !Push.client(this).isRecipient(push)) return;
            if (isShown) PushWorker.show(this, push.id(), null);
            enqueue(push.id());
        } catch (PushClientException error) {
            // The store cannot be used now, for example because the disk is full. The worker
            // removes the placeholder if the push was for another account.
            if (isShown && error.reason() == PushClientException.Reason.STORAGE) PushWorker.show(this, push.id(), null);
            enqueue(PushWorker.EVERYTHING);
        }
    }

    /** Firebase has dropped pushes: a sync fetches everything. */
    @Override
    public void onDeletedMessages() {
        enqueue(PushWorker.EVERYTHING);
    }

    /**
     * The worker registers the token now, and tries again each day until the server has the token.
     */
    @Override
    public void onNewToken(String token) {
        enqueue(PushWorker.EVERYTHING);
    }

    private void enqueue(long id) {
        OneTimeWorkRequest work = new OneTimeWorkRequest.Builder(PushWorker.class)
                .setInputData(new Data.Builder().putLong("id", id).build())
                .setConstraints(new Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
                .setBackoffCriteria(BackoffPolicy.EXPONENTIAL, 30, TimeUnit.SECONDS)
                .setExpedited(OutOfQuotaPolicy.RUN_AS_NON_EXPEDITED_WORK_REQUEST)
                .build();
        WorkManager.getInstance(this).enqueueUniqueWork("push " + id, ExistingWorkPolicy.KEEP, work);
    }
}
