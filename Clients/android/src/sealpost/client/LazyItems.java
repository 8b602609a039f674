package sealpost.client;

import java.util.AbstractList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;

/**
 * The notifications of an inbox. The list reads each notification from the disk when it returns
 * it.
 */
final class LazyItems extends AbstractList<NotificationItem> implements RandomAccess {
    private final PushClient client;
    private final Account.Snapshot state;
    private final List<Facts> facts;
    /** Notifications whose payloads must not be stored, with these payloads. */
    private final Map<Long, NotificationItem> unstored;
    private final Map<Long, Index.Task.Kind> tasks;

    LazyItems(
            PushClient client,
            Account.Snapshot state,
            List<Facts> facts,
            Map<Long, NotificationItem> unstored,
            Map<Long, Index.Task.Kind> tasks) {
        this.client = client;
        this.state = state;
        this.facts = facts;
        this.unstored = new HashMap<>(unstored);
        this.tasks = tasks;
    }

    @Override
    public int size() {
        return facts.size();
    }

    @Override
    public NotificationItem get(int index) {
        Facts facts = this.facts.get(index);
        NotificationItem item = unstored.get(facts.id);
        if (item == null) item = stored(facts);
        boolean isRead = isRead(facts, tasks);
        return item.isRead() == isRead ? item : item.read(isRead);
    }

    /** The number of unread notifications. Reads no payload. */
    int unreadCount() {
        int count = 0;
        for (Facts facts : this.facts) count += isRead(facts, tasks) ? 0 : 1;
        return count;
    }

    private static boolean isRead(Facts facts, Map<Long, Index.Task.Kind> tasks) {
        Index.Task.Kind task = tasks.get(facts.id);
        if (task == Index.Task.Kind.READ) return true;
        return task != Index.Task.Kind.UNREAD && facts.isRead;
    }

    private NotificationItem stored(Facts facts) {
        try {
            CachedItem cached = state.entry(facts.id);
            if (cached == null) cached = client.replacement(facts);
            if (cached != null) return cached.item;
        } catch (PushClientException unreadable) {
            // The account has signed out, or the disk has failed. The list then returns the
            // notification without its payload.
        }
        return facts.item();
    }
}
