package sealpost.client;

/** The facts of an entry that a list needs without its payload. */
final class Facts {
    final long id;
    final Index.Place place;
    final boolean isRead;
    final long createdAt;
    final long expiresAt;

    Facts(NotificationItem item, Index.Place place) {
        this.id = item.id();
        this.place = place;
        this.isRead = item.isRead();
        this.createdAt = item.createdMillis();
        this.expiresAt = item.expiresMillis();
    }

    /** The notification without its payload. */
    NotificationItem item() {
        Json json = Json.object().with("Id", Json.of(id)).with("Read", Json.of(isRead));
        return NotificationItem.of(json, id, isRead, createdAt, expiresAt);
    }
}
