package example;

import androidx.annotation.Nullable;
import java.lang.ref.WeakReference;
import java.util.Date;
import sealpost.client.*;

/** The activity that was opened last. Calls that run on other threads show their results on it. */
final class Screen {
    private static volatile WeakReference<MessagesActivity> activity = new WeakReference<>(null);

    private Screen() {}

    static void open(MessagesActivity opened) {
        activity = new WeakReference<>(opened);
    }

    static void show(Inbox inbox, @Nullable Date date) {
        MessagesActivity open = activity.get();
        if (open != null) open.show(inbox, date);
    }
}
