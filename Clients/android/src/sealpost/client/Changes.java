package sealpost.client;

import java.util.Collections;
import java.util.Set;

/** What has changed since a consumer's mark. Nothing is lost if the process ends before {@link PushClient#confirm}. */
public final class Changes {
    final String consumer;
    final long upTo;
    private final Set<Long> arrived;
    private final Set<Long> deleted;
    private final boolean isEverything;

    Changes(String consumer, long upTo, Set<Long> arrived, Set<Long> deleted, boolean isEverything) {
        this.consumer = consumer;
        this.upTo = upTo;
        this.arrived = Collections.unmodifiableSet(arrived);
        this.deleted = Collections.unmodifiableSet(deleted);
        this.isEverything = isEverything;
    }

    /** The ids of those that are new or changed. */
    public Set<Long> arrived() {
        return arrived;
    }

    /** The ids of those that were dismissed or recalled, or have expired: stop showing them. */
    public Set<Long> deleted() {
        return deleted;
    }

    /** Whether the mark is so old that deletions are no longer known: {@link #arrived} is all that is there. */
    public boolean isEverything() {
        return isEverything;
    }

    public boolean isEmpty() {
        return arrived.isEmpty() && deleted.isEmpty() && !isEverything;
    }
}
