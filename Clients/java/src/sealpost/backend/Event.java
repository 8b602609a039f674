package sealpost.backend;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** An outcome of a push or a notification. */
public final class Event extends Value {
    /**
     * The number of the event, higher than those of earlier events. A reader skips events whose
     * numbers it has processed before.
     */
    public final long number;

    public final Instant at;
    /** The kind of the event; docs/operate/events.md lists the kinds. */
    public final String kind;

    public final @Nullable Long notification;
    public final @Nullable String device;
    public final @Nullable String user;
    public final @Nullable String app;
    public final @Nullable String platform;
    public final @Nullable String reason;

    Event(Json json) {
        super(json);
        Members event = new Members(json);
        number = event.number("Number");
        at = event.time("At");
        kind = event.text("Kind");
        notification = event.optionalNumber("Notification");
        device = event.optionalText("Device");
        user = event.optionalText("User");
        app = event.optionalText("App");
        platform = event.optionalText("Platform");
        reason = event.optionalText("Reason");
    }
}
