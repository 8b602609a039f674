package sealpost.client;

import java.util.Collections;
import java.util.Date;
import java.util.List;

/** All notifications of a user. */
public final class Inbox {
    private final List<Item> items;
    private final @Nullable Date completeAt;

    Inbox(List<Item> items, long completeAt) {
        this.items = Collections.unmodifiableList(items);
        this.completeAt = completeAt == 0 ? null : new Date(completeAt);
    }

    /**
     * The notifications, the oldest first. Tasks that wait in the outbox appear as done.
     *
     * <p>A read-once notification has no payload here: {@link PushClient#notification} fetches it.
     * A payload that its sender forbids to store appears only in the result of the
     * {@link PushClient#refresh} that fetched it.
     */
    public List<Item> items() {
        return items;
    }

    /**
     * The time at which the inbox was last complete; null if it is not yet, such as between the
     * pages of the first refresh.
     */
    public @Nullable Date completeAt() {
        return completeAt == null ? null : new Date(completeAt.getTime());
    }

    /**
     * Whether the inbox is complete as of a time. If not, show "not loaded yet" in place of
     * "nothing here".
     */
    public boolean isComplete() {
        return completeAt != null;
    }

    /** The number of unread notifications, for a badge. */
    public int unreadCount() {
        int count = 0;
        for (Item item : items) count += item.isRead() ? 0 : 1;
        return count;
    }
}
