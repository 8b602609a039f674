package sealpost.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One answer to {@code GET /api/notifications}. */
final class Page {
    /**
     * The longest accepted cursor, in bytes of UTF-8. The server's cursors have about 40 bytes; a
     * very long cursor would leave no room in the index.
     */
    private static final int MAXIMUM_CURSOR = 1024;

    final List<CachedItem> cached = new ArrayList<>();
    /** Notifications whose payloads must not be stored, with these payloads. */
    final Map<Long, NotificationItem> unstored = new LinkedHashMap<>();

    final List<Long> deleted = new ArrayList<>();
    final String cursor;
    final boolean hasMore;

    /** Throws an interference if the body has another form. */
    Page(Answer answer, long now) throws PushClientException {
        Json json = answer.json;
        Json items = json == null ? null : json.get("Notifications");
        Json ids = json == null ? null : json.get("Deleted");
        Json cursor = json == null ? null : json.get("Cursor");
        Json more = json == null ? null : json.get("More");
        if (items == null || items.kind() != Json.Kind.ARRAY || ids == null || ids.kind() != Json.Kind.ARRAY
                || cursor == null || cursor.string() == null || more == null || more.bool() == null) {
            throw answer.unexpected("a list of notifications");
        }
        this.cursor = cursor.string();
        if (this.cursor.getBytes(StandardCharsets.UTF_8).length > MAXIMUM_CURSOR) {
            throw answer.unexpected("a cursor of at most " + MAXIMUM_CURSOR + " bytes");
        }
        this.hasMore = more.bool();
        List<NotificationItem> read = new ArrayList<>();
        boolean hasReason = false;
        for (Json element : items.elements()) {
            NotificationItem item = NotificationItem.read(element);
            if (item == null) throw answer.unexpected("a list of notifications");
            read.add(item);
            hasReason |= item.isReadOnce() || item.isNeverStored();
        }
        // If the answer forbids storing, but none of its notifications does, the client stores no
        // payload of the page.
        boolean storesNothing = answer.isNoStore && !hasReason;
        for (NotificationItem item : read) {
            boolean isStorable = !storesNothing && !item.isReadOnce() && !item.isNeverStored();
            cached.add(new CachedItem(isStorable ? item : item.withoutPayload(), null, now));
            if (!isStorable && item.payload() != null) unstored.put(item.id(), item);
        }
        for (Json element : ids.elements()) {
            Long id = element.integer();
            if (id == null) throw answer.unexpected("a list of ids");
            deleted.add(id);
        }
    }
}
