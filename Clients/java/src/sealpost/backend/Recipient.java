package sealpost.backend;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A recipient of a notification. */
public final class Recipient extends Value {
    /** Null if the user was deleted. */
    public final @Nullable String user;

    public final @Nullable Instant fetchedAt;
    public final @Nullable Instant readAt;
    public final @Nullable Instant dismissedAt;

    Recipient(Json json) {
        super(json);
        Members recipient = new Members(json);
        user = recipient.optionalText("User");
        fetchedAt = recipient.optionalTime("FetchedAt");
        readAt = recipient.optionalTime("ReadAt");
        dismissedAt = recipient.optionalTime("DismissedAt");
    }
}
