package sealpost.client;

import androidx.annotation.Nullable;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Fetches all changes since the cursor, page by page; one commit stores each page with its cursor.
 */
final class Sync {
    /**
     * The maximum number of pages of a sync, far more than an inbox has. It ends the loop if the
     * answers always have {@code More}.
     */
    private static final int MAXIMUM_PAGES = 1000;

    private final PushClient client;
    private final Deadline deadline;
    /** Notifications whose payloads must not be stored: only this sync returns these payloads. */
    final Map<Long, NotificationItem> unstored = new HashMap<>();

    private boolean isBeginning = false;
    private boolean hasRestarted = false;

    Sync(PushClient client, Deadline deadline) {
        this.client = client;
        this.deadline = deadline;
    }

    void run() throws PushClientException {
        for (int count = 0; count < MAXIMUM_PAGES; count++) {
            if (!step()) return;
        }
        throw PushClientException.of(new Interference(
                Interference.Kind.UNEXPECTED_BODY, "a last page", "more pages than an inbox has", 200, Paths.NOTIFICATIONS));
    }

    /** Fetches one page and merges it. Returns whether another page must follow. */
    private boolean step() throws PushClientException {
        Account.Snapshot before = client.account.read();
        String cursor = isBeginning ? null : before.index.cursor;
        long now = client.options.now();
        Answer answer;
        try {
            answer = client.api.call(request(client.options, cursor), deadline);
        } catch (PushClientException error) {
            boolean isUnknown = error.problem() != null && error.problem().code().equals("invalid-cursor");
            // A sync restarts only once, and not after one of its pages: otherwise it could
            // restart for ever.
            if (!isUnknown || cursor == null || hasRestarted) throw error;
            isBeginning = true;
            hasRestarted = true;
            return true;
        }
        return merge(answer, before, now);
    }

    static Request request(Options options, @Nullable String cursor) {
        Request request = new Request("GET", Paths.NOTIFICATIONS).parameter("limit", "500");
        if (options.app() != null) request.parameter("app", options.app());
        options.withKey(request);
        if (cursor != null) {
            request.parameter("since", cursor);
            // If nothing follows a cursor, the tag of the server's answer is that cursor.
            request.tag = '"' + cursor + '"';
        }
        return request;
    }

    /**
     * Merges an answer to a request that was based on this state, unless another call has moved
     * the cursor meanwhile.
     *
     * @return whether another page must follow
     */
    boolean merge(final Answer answer, final Account.Snapshot before, final long now) throws PushClientException {
        final String replaced = before.index.cursor;
        // Without a cursor the server does not list deleted notifications. The cache may contain
        // such notifications if they were fetched one by one before.
        final boolean isRestart = isBeginning || replaced == null;
        isBeginning = false;
        if (answer.status == 304) {
            client.account.cache(new Account.Change<Void>() {
                @Override
                public @Nullable Void make(Draft draft) throws PushClientException {
                    if (replaced == null || !replaced.equals(draft.index.cursor)) return null;
                    draft.index.syncedAt = now;
                    draft.expire(answer.serverTime);
                    return null;
                }
            });
            return false;
        }
        final Page page = new Page(answer, now);
        boolean isMerged = client.account.cache(new Account.Change<Boolean>() {
            @Override
            public Boolean make(Draft draft) throws PushClientException {
                draft.require(answer.account);
                String current = draft.index.cursor;
                if (current == null ? replaced != null : !current.equals(replaced)) return false;
                merge(draft, page, before.commit, isRestart, answer.serverTime, now);
                return true;
            }
        });
        if (!isMerged) return true;
        unstored.putAll(page.unstored);
        for (long id : page.deleted) unstored.remove(id);
        return page.hasMore;
    }

    private static void merge(
            Draft draft, Page page, long before, boolean isRestart, @Nullable Long serverTime, long now)
            throws PushClientException {
        if (isRestart) {
            Set<Long> left = draft.ids();
            for (CachedItem cached : page.cached) left.remove(cached.item.id());
            for (long id : left) draft.remove(id);
            // Before the last page the inbox is a mixture of two states.
            draft.index.syncedAt = 0;
        }
        for (CachedItem cached : page.cached) {
            // A notification dismissed during the request must not return.
            if (draft.wasDeletedAfter(cached.item.id(), before)) continue;
            // A page has the order in which notifications were sent. A notification of the page
            // may have been fetched earlier because of its push.
            if (draft.index.pushed.contains(cached.item.id())) draft.append(cached);
            else draft.put(cached);
        }
        for (long id : page.deleted) draft.remove(id);
        draft.index.cursor = page.cursor;
        if (!page.hasMore) draft.index.syncedAt = now;
        draft.expire(serverTime);
    }

    /** For test vectors: the next answer counts as the answer to a request without a cursor. */
    Sync restart() {
        isBeginning = true;
        return this;
    }
}
