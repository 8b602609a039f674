package example;

import java.util.Date;
import sealpost.client.Inbox;
import sealpost.client.Nullable;
import sealpost.client.PushClientException;

/** The app's screen, which each app writes itself. */
public final class Screen {
    private Screen() {}

    public static void show(Inbox inbox, @Nullable Date date, @Nullable PushClientException why) {}
}
