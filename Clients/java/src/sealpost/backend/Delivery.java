package sealpost.backend;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** One push to one device. */
public final class Delivery extends Value {
    public final @Nullable String device;
    public final @Nullable String user;
    public final String app;
    public final String platform;
    /**
     * The state of the push: queued, sending, accepted, fetched, read, expired, failed or
     * cancelled.
     */
    public final String state;

    public final long attempts;
    public final @Nullable Instant updatedAt;
    public final @Nullable String reason;

    Delivery(Json json) {
        super(json);
        Members delivery = new Members(json);
        device = delivery.optionalText("Device");
        user = delivery.optionalText("User");
        app = delivery.text("App");
        platform = delivery.text("Platform");
        state = delivery.text("State");
        attempts = delivery.number("Attempts");
        updatedAt = delivery.optionalTime("UpdatedAt");
        reason = delivery.optionalText("Reason");
    }
}
