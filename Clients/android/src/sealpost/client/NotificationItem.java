package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Date;

/** A notification that its recipient has fetched. */
public final class NotificationItem {
    private final long id;
    private final Json json;
    private final boolean isRead;
    private final long createdAt;
    private final long expiresAt;

    private NotificationItem(long id, Json json, boolean isRead, long createdAt, long expiresAt) {
        this.id = id;
        this.json = json;
        this.isRead = isRead;
        this.createdAt = createdAt;
        this.expiresAt = expiresAt;
    }

    /**
     * Reads a notification from JSON in the form that the server sends, for tests and previews.
     *
     * @throws IllegalArgumentException if {@code Id} or {@code Read} is missing
     */
    public static NotificationItem of(Json json) {
        NotificationItem item = read(json);
        if (item == null) throw new IllegalArgumentException("a notification needs Id and Read");
        return item;
    }

    static NotificationItem of(Json json, long id, boolean isRead, long createdAt, long expiresAt) {
        return new NotificationItem(id, json, isRead, createdAt, expiresAt);
    }

    /** Reads a notification; null if {@code Id} or {@code Read} is missing or of another type. */
    static @Nullable NotificationItem read(Json json) {
        Json id = json.get("Id");
        Json read = json.get("Read");
        if (id == null || read == null) return null;
        Long number = id.integer();
        Boolean isRead = read.bool();
        if (number == null || isRead == null) return null;
        Long created = Times.fromRfc3339(text(json, "CreatedAt"));
        Long expires = Times.fromRfc3339(text(json, "ExpiresAt"));
        return new NotificationItem(
                number, json, isRead, created == null ? Long.MIN_VALUE : created, expires == null ? Long.MAX_VALUE : expires);
    }

    private static @Nullable String text(Json json, String name) {
        Json member = json.get(name);
        return member == null ? null : member.string();
    }

    /** The {@code secureId} of the push. */
    public long id() {
        return id;
    }

    /**
     * The payload: a string, or any other JSON value. Null in a list if the payload can be fetched
     * only once, and in the cache if it must not be stored.
     */
    public @Nullable Json payload() {
        return json.get("Payload");
    }

    /** The payload if it is a string that a person can read: null for an end-to-end payload. */
    public @Nullable String text() {
        return isEndToEnd() ? null : text(json, "Payload");
    }

    /** Whether the payload is encrypted for devices: {@link PushClient#openPayload} opens it. */
    public boolean isEndToEnd() {
        String text = text(json, "Payload");
        return text != null && text.startsWith("sealpost-e2e.");
    }

    public boolean isRead() {
        return isRead;
    }

    /** The time at which the server accepted the notification. */
    public Date createdAt() {
        return new Date(createdAt);
    }

    /** The time at which the server deletes the payload. */
    public Date expiresAt() {
        return new Date(expiresAt);
    }

    /**
     * Whether the payload can be fetched only once: show it, then call {@link
     * PushClient#confirmTaken}.
     */
    public boolean isReadOnce() {
        return json.isTrue("ReadOnce");
    }

    /** Whether the publisher forbids storing the payload. */
    boolean isNeverStored() {
        return "never".equals(text(json, "Store"));
    }

    long createdMillis() {
        return createdAt;
    }

    long expiresMillis() {
        return expiresAt;
    }

    Json json() {
        return json;
    }

    NotificationItem withoutPayload() {
        return new NotificationItem(id, json.without("Payload").without("Store"), isRead, createdAt, expiresAt);
    }

    NotificationItem read(boolean isRead) {
        return new NotificationItem(id, json.replacing("Read", Json.of(isRead)), isRead, createdAt, expiresAt);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NotificationItem && json.equals(((NotificationItem) other).json);
    }

    @Override
    public int hashCode() {
        return json.hashCode();
    }

    /** A text for a log, without the payload. */
    @Override
    public String toString() {
        return "notification " + id + (isRead ? ", read" : "");
    }
}
