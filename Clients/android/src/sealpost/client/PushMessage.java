package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Map;

/**
 * The data of a push, such as {@code RemoteMessage.getData()}.
 *
 * <p>A push passes through the networks of providers, so it contains no secret, and no text to
 * show.
 */
public final class PushMessage {
    private final long id;
    private final Map<String, String> data;

    private PushMessage(long id, Map<String, String> data) {
        this.id = id;
        this.data = data;
    }

    /**
     * Reads a push; null if it has no {@code secureId}, for example because it comes from another
     * service.
     */
    public static @Nullable PushMessage read(Map<String, String> data) {
        String id = data.get("secureId");
        if (id == null || !id.matches("[0-9]{1,19}")) return null;
        try {
            return new PushMessage(Long.parseLong(id), data);
        } catch (NumberFormatException tooGreat) {
            return null;
        }
    }

    /**
     * The hint that identifies the push's account on a shared device, for {@link
     * PushClient#isRecipient}. Null if the registration was made without {@link
     * Options#deviceShared}.
     */
    public @Nullable String accountHint() {
        return data.get("accountHint");
    }

    /** The notification's id, for {@link PushClient#notification}. */
    public long id() {
        return id;
    }

    /**
     * A name that the publisher has chosen, such as {@code titleKey} or {@code channel}: look up
     * the text or channel of that name among the app's own.
     */
    public @Nullable String name(String key) {
        return data.get(key);
    }

    /** The number for a badge; negative if the push has none. */
    public int badge() {
        String badge = data.get("badge");
        return badge == null || !badge.matches("[0-9]{1,9}") ? -1 : Integer.parseInt(badge);
    }
}
