package sealpost.backend;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** An accepted notification. */
public final class Sent extends Value {
    public final long id;
    public final Instant createdAt;
    /** When a scheduled notification will be sent. */
    public final @Nullable Instant sendAt;

    public final Instant expiresAt;
    /**
     * The number of users who receive the notification; null while the server still looks for
     * devices.
     */
    public final @Nullable Long recipients;
    /** The number of devices that get a push; null while the server still looks for devices. */
    public final @Nullable Long pushes;
    /** Whether the server still looks for devices. */
    public final boolean more;

    Sent(Json json) {
        super(json);
        Members sent = new Members(json);
        id = sent.number("Id");
        createdAt = sent.time("CreatedAt");
        sendAt = sent.optionalTime("SendAt");
        expiresAt = sent.time("ExpiresAt");
        recipients = sent.optionalNumber("Recipients");
        pushes = sent.optionalNumber("Pushes");
        more = sent.flag("More");
    }
}
