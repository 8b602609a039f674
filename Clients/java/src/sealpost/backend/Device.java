package sealpost.backend;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A device of a user. */
public final class Device extends Value {
    public final String id;
    /** The state of the registration: requested, registered or retired. */
    public final String state;

    /** Null unless the device is registered, as are its platform and tags. */
    public final @Nullable String app;

    public final @Nullable String platform;
    public final @Nullable List<String> tags;
    public final @Nullable Instant registeredAt;
    public final @Nullable Instant lastPush;
    public final @Nullable Instant lastFetch;
    public final @Nullable Instant retiredAt;
    /** Why the device is retired. */
    public final @Nullable String reason;

    Device(Json json) {
        super(json);
        Members device = new Members(json);
        id = device.text("Id");
        state = device.text("State");
        app = device.optionalText("App");
        platform = device.optionalText("Platform");
        tags = device.optional("Tags") == null ? null : device.list("Tags", Json::string);
        registeredAt = device.optionalTime("RegisteredAt");
        lastPush = device.optionalTime("LastPush");
        lastFetch = device.optionalTime("LastFetch");
        retiredAt = device.optionalTime("RetiredAt");
        reason = device.optionalText("Reason");
    }
}
