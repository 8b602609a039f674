package example;

import android.app.Application;
import android.app.NotificationChannel;
import android.app.NotificationManager;
import android.os.Build;
import androidx.work.ExistingPeriodicWorkPolicy;
import androidx.work.PeriodicWorkRequest;
import androidx.work.WorkManager;
import java.util.concurrent.TimeUnit;

public final class App extends Application {
    static final String CHANNEL = "results";
    /** The channel of the worker's own notification, which is silent. */
    static final String LOADING = "loading";

    @Override
    public void onCreate() {
        super.onCreate();
        if (Build.VERSION.SDK_INT >= 26) {
            NotificationManager manager = getSystemService(NotificationManager.class);
            manager.createNotificationChannel(
                    new NotificationChannel(CHANNEL, getString(R.string.results), NotificationManager.IMPORTANCE_HIGH));
            manager.createNotificationChannel(
                    new NotificationChannel(LOADING, getString(R.string.loading), NotificationManager.IMPORTANCE_MIN));
        }
        PeriodicWorkRequest daily = new PeriodicWorkRequest.Builder(PushWorker.class, 1, TimeUnit.DAYS).build();
        WorkManager.getInstance(this).enqueueUniquePeriodicWork("push", ExistingPeriodicWorkPolicy.KEEP, daily);
    }
}
