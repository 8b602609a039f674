package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Calls for single notifications. Each call stores its result in one commit, which also removes
 * the call's task from the outbox.
 */
final class Notifications {
    private final PushClient client;

    Notifications(PushClient client) {
        this.client = client;
    }

    /** Fetches a notification; returns the cached notification if the server cannot be reached. */
    Fetched<NotificationItem> fetch(long id) throws PushClientException {
        final Account.Snapshot before = client.account.read();
        CachedItem cached = before.entry(id);
        if (cached != null && cached.item.payload() == null) cached = null;
        Request request = client.options.withKey(new Request("GET", Paths.notification(id)));
        request.tag = cached == null ? null : cached.tag;
        long now = client.options.now();
        try {
            Answer answer = client.api.call(request, client.options.deadline());
            boolean isCached = answer.status == 304 && cached != null;
            NotificationItem item = isCached ? cached.item : answer.item(id);
            if (!isCached) take(answer, item, answer.tag, before.commit, null, now);
            NotificationItem shown = afterTasks(item);
            return Fetched.fresh(shown == null ? item : shown);
        } catch (PushClientException error) {
            if (error.isGone()) {
                remove(id, null);
                throw error;
            }
            NotificationItem item = error.allowsCached() ? client.cachedNotification(id) : null;
            if (item == null) throw error;
            long date = Math.max(cached == null ? 0 : cached.date, client.account.read().index.syncedAt);
            return Fetched.cached(item, date == 0 ? null : new Date(date), error);
        }
    }

    /**
     * Fetches a notification to show before the user opens it; null if the notification is gone.
     *
     * <p>The request is a list of one id, since a list has no read-once payloads: a minute after a
     * fetch of such a payload, the server erases it.
     */
    @Nullable NotificationItem preview(long id) throws PushClientException {
        long before = client.account.read().commit;
        long now = client.options.now();
        Request request = new Request("GET", Paths.NOTIFICATIONS).parameter("ids", Long.toString(id));
        if (client.options.app() != null) request.parameter("app", client.options.app());
        client.options.withKey(request);
        Answer answer;
        try {
            answer = client.api.call(request, client.options.deadline());
        } catch (PushClientException error) {
            NotificationItem cached = error.allowsCached() ? client.cachedNotification(id) : null;
            if (cached == null) throw error;
            return cached;
        }
        Json items = answer.json == null ? null : answer.json.get("Notifications");
        if (items == null || items.kind() != Json.Kind.ARRAY) throw answer.unexpected("a list of notifications");
        NotificationItem found = null;
        for (Json element : items.elements()) {
            found = NotificationItem.read(element);
            if (found == null) throw answer.unexpected("a list of notifications");
            if (found.id() != id) {
                throw answer.interference(Interference.Kind.WRONG_ID, Long.toString(id), Long.toString(found.id()));
            }
        }
        if (found == null) {
            remove(id, null);
            return null;
        }
        take(answer, found, null, before, null, now);
        return afterTasks(found);
    }

    /** A notification with the changes of the outbox; null if it was dismissed. */
    private @Nullable NotificationItem afterTasks(NotificationItem item) throws PushClientException {
        for (Index.Task task : client.account.read().index.outbox) {
            if (task.id != item.id() || task.kind == Index.Task.Kind.SEND) continue;
            if (task.kind == Index.Task.Kind.DISMISS) return null;
            item = item.read(task.kind == Index.Task.Kind.READ);
        }
        return item;
    }

    void confirmTaken(long id) throws PushClientException {
        try {
            client.api.call(new Request("POST", Paths.taken(id)), client.options.deadline());
        } catch (PushClientException error) {
            if (!error.isGone()) throw error;
        }
        remove(id, null);
    }

    NotificationItem mark(long id, boolean isRead, @Nullable String task, Deadline deadline) throws PushClientException {
        long before = client.account.read().commit;
        long now = client.options.now();
        Request request = client.options.withKey(new Request("PATCH", Paths.notification(id)));
        request.body = Json.object().with("Read", Json.of(isRead));
        Answer answer = client.api.call(request, deadline);
        NotificationItem item = answer.item(id);
        take(answer, item, answer.tag, before, task, now);
        return item;
    }

    Set<Long> markRead(List<Long> ids, final Set<String> tasks, Deadline deadline) throws PushClientException {
        if (ids.isEmpty()) return new HashSet<>();
        final long before = client.account.read().commit;
        List<Json> numbers = new ArrayList<>();
        for (long id : ids) numbers.add(Json.of(id));
        Request request = new Request("POST", Paths.READ);
        request.body = Json.object().with("Ids", Json.array(numbers));
        Answer answer = client.api.call(request, deadline);
        Json elements = answer.json == null ? null : answer.json.get("Read");
        if (elements == null || elements.kind() != Json.Kind.ARRAY) throw answer.unexpected("a list of ids");
        final Set<Long> read = new HashSet<>();
        for (Json element : elements.elements()) {
            Long id = element.integer();
            if (id == null || !ids.contains(id)) throw answer.unexpected("ids of these");
            read.add(id);
        }
        client.account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) throws PushClientException {
                for (long id : read) {
                    CachedItem cached = draft.isUntouched(id, before) ? draft.entry(id) : null;
                    if (cached == null || cached.item.isRead()) continue;
                    draft.put(new CachedItem(cached.item.read(true), null, cached.date));
                }
                for (String task : tasks) Outbox.finish(draft, task);
                return null;
            }
        });
        return read;
    }

    void dismiss(long id, @Nullable String task, Deadline deadline) throws PushClientException {
        try {
            client.api.call(new Request("DELETE", Paths.notification(id)), deadline);
        } catch (PushClientException error) {
            if (!error.isGone()) throw error;
        }
        remove(id, task);
    }

    NotificationItem post(Json payload, String key, Deadline deadline) throws PushClientException {
        Request request = new Request("POST", Paths.NOTIFICATIONS);
        if (client.options.app() != null) request.parameter("app", client.options.app());
        request.hasMessage = true;
        request.idempotencyKey = '"' + key + '"';
        // A string can be the whole body; any other value must be the body's member {@code
        // Payload}, and the answer then has another form.
        request.body = payload.kind() == Json.Kind.STRING ? payload : Json.object().with("Payload", payload);
        Answer answer = client.api.call(request, deadline);
        Json json = answer.json;
        if (json != null && json.get("Read") == null && json.get("Id") != null) json = json.with("Read", Json.of(false));
        NotificationItem item = json == null ? null : NotificationItem.read(json);
        if (item == null) throw answer.unexpected("a notification");
        return item;
    }

    void remove(final long id, final @Nullable String task) throws PushClientException {
        client.account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                // Records the deletion even of an unknown id: an answer that is under way must not
                // restore it.
                draft.remove(id);
                Outbox.finish(draft, task);
                return null;
            }
        });
    }

    /**
     * Stores the notification of an answer, without its payload if that must not be stored, unless
     * a newer state was stored meanwhile.
     */
    private void take(
            final Answer answer,
            final NotificationItem item,
            final @Nullable String tag,
            final long before,
            final @Nullable String task,
            final long now)
            throws PushClientException {
        final boolean isStorable =
                !answer.isNoStore && !item.isReadOnce() && !item.isNeverStored() && item.payload() != null;
        client.account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) throws PushClientException {
                draft.require(answer.account);
                Outbox.finish(draft, task);
                boolean isOver = answer.serverTime != null && item.expiresMillis() <= answer.serverTime;
                if (isOver || !draft.isUntouched(item.id(), before)) return null;
                CachedItem cached = isStorable
                        ? new CachedItem(item, tag, now)
                        : new CachedItem(item.withoutPayload(), null, now);
                CachedItem old = draft.entry(item.id());
                // For the same content only the validator is new, which is not a change to report.
                boolean isSame = old != null && old.item.equals(cached.item);
                if (isSame && (old.tag != null || cached.tag == null)) return null;
                if (old == null) draft.index.pushed.add(item.id());
                draft.put(cached);
                return null;
            }
        });
    }
}
