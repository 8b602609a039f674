package sealpost.client;

import java.util.Collections;
import java.util.Set;

/**
 * The changes since the last changes that a consumer has confirmed. The client reports them again
 * until {@link PushClient#confirm}, even after the process has ended.
 */
public final class InboxChanges {
    final String consumer;
    final long upTo;
    private final Set<Long> arrived;
    private final Set<Long> deleted;
    private final boolean isEverything;

    /** Creates the changes up to a commit, for tests. */
    public InboxChanges(String consumer, long upTo, Set<Long> arrived, Set<Long> deleted, boolean isEverything) {
        this.consumer = consumer;
        this.upTo = upTo;
        this.arrived = Collections.unmodifiableSet(arrived);
        this.deleted = Collections.unmodifiableSet(deleted);
        this.isEverything = isEverything;
    }

    /** The ids of new and changed notifications. */
    public Set<Long> arrived() {
        return arrived;
    }

    /**
     * The ids of notifications that were dismissed or recalled, or have expired: stop showing
     * them.
     */
    public Set<Long> deleted() {
        return deleted;
    }

    /**
     * Whether the consumer's last confirmation is so old that the deletions since are unknown:
     * {@link #arrived} is then the full list.
     */
    public boolean isEverything() {
        return isEverything;
    }

    public boolean isEmpty() {
        return arrived.isEmpty() && deleted.isEmpty() && !isEverything;
    }
}
