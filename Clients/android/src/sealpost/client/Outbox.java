package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import sealpost.client.Index.Task;

/**
 * The tasks of the user that do not wait for the network, such as a dismissal. The client stores
 * them and shows them as done; the next {@link PushClient#sync} or {@link #flush} sends them to
 * the server.
 *
 * <p>If nobody is signed in, all calls throw {@link PushClientException.Reason#SIGNED_OUT}. At
 * most 500 tasks wait; further ones throw {@link PushClientException.Reason#OUTBOX_FULL}.
 *
 * <p>All attempts of a task have the same key, even after a crash, so that the server carries it
 * out only once.
 */
public final class Outbox {
    private static final int MAXIMUM_TASKS = 500;
    private static final int MAXIMUM_FAILED = 100;
    /** The maximum length of a stored code. The server's codes are shorter. */
    private static final int MAXIMUM_CODE = 128;
    /**
     * How long a retry is safe, in milliseconds: the server stores the key of a sent notification
     * for a day.
     */
    private static final long KEY_LIFETIME = 23 * 3_600_000L;

    private final PushClient client;

    Outbox(PushClient client) {
        this.client = client;
    }

    /** A task that the server or a proxy has refused, or whose outcome is unknown. */
    public static final class Failure {
        private final String key;
        private final @Nullable String code;

        /** Creates a failed task, for tests. */
        public Failure(String key, @Nullable String code) {
            this.key = key;
            this.code = code;
        }

        /** The key that {@link Outbox#send} returned. */
        public String key() {
            return key;
        }

        /**
         * The code of the server's refusal; null if the first attempt was more than 23 hours ago
         * and may have reached the server.
         *
         * <p>A message that is too large for a proxy in front of the server has the code {@code
         * payload-too-large}, too. It still waits until the app discards it, for at most 23 hours,
         * because the server has not signed the proxy's refusal.
         */
        public @Nullable String code() {
            return code;
        }
    }

    /** Marks a notification as read or unread. */
    public void markRead(long id, boolean isRead) throws PushClientException {
        add(new Task(isRead ? Task.Kind.READ : Task.Kind.UNREAD, key(), id, null, 0), null);
    }

    /** Dismisses a notification on all of the user's devices. */
    public void dismiss(long id) throws PushClientException {
        add(new Task(Task.Kind.DISMISS, key(), id, null, 0), null);
    }

    /** Sends a payload to the user's own devices, and returns the key of the task. */
    public String send(Json payload) throws PushClientException {
        Task task = new Task(Task.Kind.SEND, key(), 0, null, 0);
        add(task, Objects.requireNonNull(payload, "payload"));
        return task.key;
    }

    /** The number of waiting tasks. */
    public int count() throws PushClientException {
        return index().outbox.size();
    }

    private Index index() throws PushClientException {
        client.api.requireCredentialForTask();
        return client.account.read().index;
    }

    private static String key() {
        return UUID.randomUUID().toString();
    }

    private void add(final Task task, final @Nullable Json payload) throws PushClientException {
        client.api.requireCredentialForTask();
        client.account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) throws PushClientException {
                List<Task> tasks = draft.index.outbox;
                if (payload == null) {
                    // A new task for a notification replaces the earlier tasks for it.
                    for (Task other : new ArrayList<>(tasks)) {
                        if (other.payload == null && other.id == task.id) tasks.remove(other);
                    }
                }
                if (tasks.size() >= MAXIMUM_TASKS) {
                    throw PushClientException.of(PushClientException.Reason.OUTBOX_FULL, "the outbox is full", null);
                }
                tasks.add(payload == null
                        ? task
                        : new Task(task.kind, task.key, 0, draft.add(payload.bytes()), 0));
                return null;
            }
        });
    }

    /** The failed tasks, which stay until {@link #discard}. */
    public List<Failure> failures() throws PushClientException {
        List<Failure> failed = new ArrayList<>();
        for (Map.Entry<String, String> entry : index().failed.entrySet()) {
            failed.add(new Failure(entry.getKey(), entry.getValue().isEmpty() ? null : entry.getValue()));
        }
        return failed;
    }

    /** Removes a failed task, also if it still waits. Call this after the app has told the user. */
    public void discard(final Failure failure) throws PushClientException {
        client.api.requireCredentialForTask();
        client.account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                finish(draft, failure.key);
                return null;
            }
        });
    }

    /**
     * Sends all waiting tasks in their order. Throws when the network fails or the server is busy;
     * the remaining tasks then wait. Tasks that the server refuses for good move to
     * {@link #failures}. Messages that are too large for a proxy are in {@link #failures}, too, and
     * do not make the other tasks wait.
     */
    public void flush() throws PushClientException {
        Deadline deadline = client.options.deadline();
        client.api.requireCredentialForTask();
        flush(deadline);
    }

    void flush(Deadline deadline) throws PushClientException {
        Set<String> tooLarge = new LinkedHashSet<>();
        // Other threads may keep adding tasks.
        for (int count = 0; count < 2 * MAXIMUM_TASKS; count++) {
            List<Task> tasks = new ArrayList<>();
            for (Task task : client.account.read().index.outbox) {
                if (!tooLarge.contains(task.key)) tasks.add(task);
            }
            if (tasks.isEmpty()) return;
            Task task = tasks.get(0);
            try {
                perform(task, tasks, deadline);
            } catch (PushClientException error) {
                Problem problem = error.problem();
                if (task.kind == Task.Kind.SEND && isTooLargeForProxy(error)) {
                    // A proxy's refusal must not block the other tasks. Anybody can forge its
                    // answer, so the task still waits.
                    tooLarge.add(task.key);
                    fail(task.key, "payload-too-large", false);
                } else if (error.reason() == PushClientException.Reason.PROBLEM && problem != null) {
                    fail(task.key, problem.code(), true);
                } else {
                    throw error;
                }
            }
        }
    }

    private static boolean isTooLargeForProxy(PushClientException error) {
        Interference found = error.interference();
        return found != null && found.kind() == Interference.Kind.MISSING_ECHO && found.status() == 413;
    }

    private boolean isUncertain(Task task) {
        return task.triedAt != 0 && Math.abs(client.options.now() - task.triedAt) > KEY_LIFETIME;
    }

    private void perform(Task task, List<Task> tasks, Deadline deadline) throws PushClientException {
        switch (task.kind) {
            case READ:
                List<Task> same = new ArrayList<>();
                for (Task other : tasks) {
                    if (other.kind != Task.Kind.READ) break;
                    same.add(other);
                }
                Set<Long> ids = new LinkedHashSet<>();
                for (Task other : same) ids.add(other.id);
                client.notifications.markRead(new ArrayList<>(ids), keys(same), deadline);
                break;
            case UNREAD:
                try {
                    client.notifications.mark(task.id, false, task.key, deadline);
                } catch (PushClientException error) {
                    if (!error.isGone()) throw error;
                    client.notifications.remove(task.id, task.key);
                }
                break;
            case DISMISS:
                client.notifications.dismiss(task.id, task.key, deadline);
                break;
            default:
                if (isUncertain(task)) fail(task.key, "", true);
                else send(task, deadline);
        }
    }

    private static Set<String> keys(List<Task> tasks) {
        Set<String> keys = new LinkedHashSet<>();
        for (Task task : tasks) keys.add(task.key);
        return keys;
    }

    private void send(Task task, Deadline deadline) throws PushClientException {
        byte[] payload = task.payload == null ? null : client.account.read().content(task.payload);
        if (payload != null) {
            tried(task.key);
            try {
                client.notifications.post(Json.read(payload), task.key, deadline);
            } catch (JsonException damaged) {
                throw Store.storage(damaged);
            }
        } else if (isThere(task.key)) {
            // The payload is damaged, so the task cannot be sent.
            fail(task.key, "", true);
            return;
        }
        finish(task.key);
    }

    private boolean isThere(String key) throws PushClientException {
        for (Task task : client.account.read().index.outbox) {
            if (task.key.equals(key)) return true;
        }
        return false;
    }

    /** Records that the server may have received the task. */
    private void tried(final String key) throws PushClientException {
        final long now = client.options.now();
        client.account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                List<Task> tasks = draft.index.outbox;
                for (int index = 0; index < tasks.size(); index++) {
                    Task task = tasks.get(index);
                    if (!task.key.equals(key) || task.triedAt != 0) continue;
                    tasks.set(index, new Task(task.kind, task.key, task.id, task.payload, now));
                }
                return null;
            }
        });
    }

    private void fail(final String key, final String code, final boolean isFinal) throws PushClientException {
        client.account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                List<Task> tasks = draft.index.outbox;
                for (Task task : new ArrayList<>(tasks)) {
                    if (!task.key.equals(key)) continue;
                    if (isFinal) tasks.remove(task);
                    draft.index.failed.put(key, code.substring(0, Math.min(code.length(), MAXIMUM_CODE)));
                }
                while (draft.index.failed.size() > MAXIMUM_FAILED) {
                    draft.index.failed.remove(draft.index.failed.keySet().iterator().next());
                }
                return null;
            }
        });
    }

    private void finish(final String key) throws PushClientException {
        client.account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                finish(draft, key);
                return null;
            }
        });
    }

    static void finish(Draft draft, @Nullable String key) {
        draft.index.failed.remove(key);
        for (Task task : new ArrayList<>(draft.index.outbox)) {
            if (task.key.equals(key)) draft.index.outbox.remove(task);
        }
    }
}
