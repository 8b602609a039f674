package sealpost.client;

import java.util.Collections;
import java.util.Date;
import java.util.List;

/** All notifications that a user has. */
public final class Inbox {
    private final List<Item> items;
    private final @Nullable Date completeAt;

    Inbox(List<Item> items, long completeAt) {
        this.items = Collections.unmodifiableList(items);
        this.completeAt = completeAt == 0 ? null : new Date(completeAt);
    }

    /**
     * The notifications, the oldest first, with what waits in the outbox as if it were done.
     *
     * <p>One that may be read once has no payload here: {@link PushClient#notification} fetches it. A payload that its sender
     * has forbidden to keep is only in the result of the {@link PushClient#refresh} that fetched it.
     */
    public List<Item> items() {
        return items;
    }

    /** When it was last known to be complete; null if it is not yet, as between the pages of a beginning. */
    public @Nullable Date completeAt() {
        return completeAt == null ? null : new Date(completeAt.getTime());
    }

    /** Whether it is complete as of a time: show "not loaded yet" in place of "nothing here" otherwise. */
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
