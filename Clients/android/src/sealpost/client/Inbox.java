package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;

/** All notifications of a user. */
public final class Inbox {
    private final List<NotificationItem> items;
    private final int unreadCount;
    private final @Nullable Date syncedAt;

    Inbox(LazyItems items, long syncedAt) {
        this.items = items;
        this.unreadCount = items.unreadCount();
        this.syncedAt = syncedAt == 0 ? null : new Date(syncedAt);
    }

    /** Creates an inbox of these notifications, for tests and previews. */
    public Inbox(List<NotificationItem> notifications, @Nullable Date syncedAt) {
        this.items = Collections.unmodifiableList(new ArrayList<>(notifications));
        int count = 0;
        for (NotificationItem item : items) count += item.isRead() ? 0 : 1;
        this.unreadCount = count;
        this.syncedAt = syncedAt == null ? null : new Date(syncedAt.getTime());
    }

    /**
     * The notifications, the oldest first. The list reads each notification from the disk when it
     * returns it, so show only a page at a time: {@code subList}, or the rows of a {@code
     * RecyclerView}. The list itself does not change. A notification that was deleted after this
     * call has no payload.
     *
     * <p>Tasks that wait in the outbox appear as done.
     *
     * <p>A payload that can be fetched only once is missing here: {@link PushClient#notification}
     * fetches it. If the publisher forbids storing a payload, only the {@link PushClient#sync}
     * that fetched it returns it.
     */
    public List<NotificationItem> notifications() {
        return items;
    }

    /**
     * When the inbox was last complete; null before the end of the first sync, and while a sync
     * fetches the whole inbox again.
     */
    public @Nullable Date syncedAt() {
        return syncedAt == null ? null : new Date(syncedAt.getTime());
    }

    /**
     * Whether the inbox was complete at the time {@link #syncedAt}. If not, show "not loaded yet"
     * in place of "nothing here".
     */
    public boolean isComplete() {
        return syncedAt != null;
    }

    /** The number of unread notifications, for a badge. */
    public int unreadCount() {
        return unreadCount;
    }
}
