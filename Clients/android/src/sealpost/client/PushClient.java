package sealpost.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A device's side of Sealpost, for one account of one server.
 *
 * <pre>{@code
 * PushClient client = new PushClient(
 *     new Options("https://push.example.org", Signatures.pinned(verifier, new SignatureKey(PINNED))),
 *     Credentials.kept("alice"),
 *     new Store(new File(context.getNoBackupFilesDir(), "sealpost"), keystoreKey));
 * show(client.kept());                          // at once, without network
 * Fetched<Inbox> inbox = client.refresh();      // everything missed
 * }</pre>
 *
 * <p>Calls block and may run at once on any number of threads. Each ends within {@link Options#deadlineMillis}. An answer that
 * does not echo its request's {@code MyToken}, or is not signed though keys are pinned, is an {@link Interference}.
 */
public final class PushClient {
    private static final long WEEK = 7 * 86_400_000L;

    final Options options;
    final Api api;
    final Account account;
    private final Store store;
    final Notifications notifications = new Notifications(this);
    private final Outbox outbox = new Outbox(this);
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    /** What is kept belongs to server, account and app, and to whether answers are signed. */
    public PushClient(Options options, Credentials credentials, Store store) {
        this.options = options;
        this.store = store;
        String app = options.app() == null ? "" : options.app();
        String proof = options.isSigned() ? "signed" : "echoed";
        this.account = new Account(store, options.base() + '\n' + credentials.account() + '\n' + app + '\n' + proof);
        this.api = new Api(options, credentials.of(account), new OwnAccount(account, credentials.accountId()));
    }

    // What is kept

    /** The kept inbox, at once and without network. */
    public Inbox kept() throws PushException {
        return inbox(Collections.<Long, Item>emptyMap());
    }

    /** A kept notification with its payload; null if there is none. */
    public @Nullable Item kept(long id) throws PushException {
        Account.Snapshot now = account.read();
        Kept kept = now.entry(id);
        if (kept == null || kept.item.payload() == null) return null;
        List<Item> shown = shown(Collections.singletonList(kept.item), now.index);
        return shown.isEmpty() ? null : shown.get(0);
    }

    /**
     * What has changed since a consumer of that name has confirmed changes, by whichever process of the app.
     *
     * <p>The first time it is everything. Nothing is lost between pages or in a crash: it is told again until confirmed.
     *
     * @param consumer a name of at most 128 characters
     */
    public Changes changes(String consumer) throws PushException {
        if (consumer.length() > 128) throw new IllegalArgumentException("the name of a consumer is too long");
        Account.Snapshot now = account.read();
        Long mark = now.index.marks.get(consumer);
        long since = mark == null ? 0 : mark;
        // Where deletions of that time are no longer known, only all that is there tells what is not.
        boolean isEverything = now.index.forgottenUpTo > since;
        Set<Long> arrived = new HashSet<>();
        for (Map.Entry<Long, Index.Place> entry : now.index.entries.entrySet()) {
            if (isEverything || entry.getValue().commit > since) arrived.add(entry.getKey());
        }
        Set<Long> deleted = new HashSet<>();
        for (Map.Entry<Long, Long> entry : now.index.deletions.entrySet()) {
            if (entry.getValue() > since) deleted.add(entry.getKey());
        }
        return new Changes(consumer, now.commit, arrived, deleted, isEverything);
    }

    /**
     * Remembers that a consumer has taken these changes. The marks of 16 consumers are kept, of those that confirmed last: to others
     * everything is told anew.
     */
    public void confirm(final Changes changes) throws PushException {
        account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                Long mark = draft.index.marks.get(changes.consumer);
                if (mark != null && mark >= changes.upTo) return null;
                // In the order in which they have confirmed.
                draft.index.marks.remove(changes.consumer);
                draft.index.marks.put(changes.consumer, changes.upTo);
                return null;
            }
        });
    }

    /** Calls back after each change that this client has made, on the thread of that call. */
    public void addListener(Runnable listener) {
        listeners.add(listener);
    }

    public void removeListener(Runnable listener) {
        listeners.remove(listener);
    }

    // Network

    /**
     * Tells the server what waits in the outbox, and fetches all changes.
     *
     * <p>When the network fails or interferes, or the server is busy, the inbox is the kept one, and the result says why.
     */
    public Fetched<Inbox> refresh() throws PushException {
        Deadline deadline = options.deadline();
        Refresh refresh = new Refresh(this, deadline);
        try {
            try {
                outbox.flush(deadline);
            } catch (PushException error) {
                // What the server does not take now must not keep back what it has.
                boolean isOfTask = error.reason() == PushException.Reason.BUSY || error.reason() == PushException.Reason.PROBLEM;
                if (!isOfTask) throw error;
            }
            Inbox inbox = null;
            // Twice, if the file of a notification was lost, which is found when all are read.
            for (int attempt = 0; attempt < 2 && (inbox == null || !inbox.isComplete()); attempt++) {
                refresh.run();
                inbox = inbox(refresh.unkept);
            }
            if (inbox == null || !inbox.isComplete()) throw Account.busy();
            endEarlierDevices(deadline);
            return Fetched.fresh(inbox);
        } catch (PushException error) {
            if (!error.leavesWhatIsKept()) throw error;
            Inbox kept = inbox(refresh.unkept);
            return Fetched.kept(kept, kept.completeAt(), error);
        } finally {
            tell();
        }
    }

    /**
     * Fetches a notification by the id of its push, for its reader; {@link #shown} is for a notification on the screen.
     *
     * <p>If the server cannot be reached, it is the kept one; if it says that it is gone, it is deleted here, too, and the call
     * throws. A payload that may be read once is not kept, and the server gives it again for one minute only: show or store
     * it, then call {@link #confirmTaken}.
     */
    public Fetched<Item> notification(long id) throws PushException {
        try {
            return notifications.fetch(id);
        } finally {
            tell();
        }
    }

    /**
     * What a notification on the screen may show of a push; null if it was recalled or dismissed, or has expired.
     *
     * <p>A payload that may be read once is not fetched, so that it is still there when the app is opened: {@link Item#payload} is
     * null. If the server cannot be reached, it is the kept one, or the call throws.
     */
    public @Nullable Item shown(long id) throws PushException {
        try {
            return notifications.shown(id);
        } finally {
            tell();
        }
    }

    /**
     * Confirms that a payload that may be read once has arrived, so that it is erased at once.
     *
     * <p>Without it the server erases it a minute after the first fetch.
     */
    public void confirmTaken(long id) throws PushException {
        notifications.confirmTaken(id);
        tell();
    }

    /** Marks a notification as read or not, now; {@link Outbox#markRead} does not wait for the network. */
    public Item markRead(long id, boolean isRead) throws PushException {
        Item item = notifications.mark(id, isRead, null, options.deadline());
        tell();
        return item;
    }

    /** Marks up to 500 notifications as read in one request, and returns the ids that are read now. */
    public Set<Long> markRead(Collection<Long> ids) throws PushException {
        Set<Long> read = notifications.markRead(new ArrayList<>(ids), Collections.<String>emptySet(), options.deadline());
        tell();
        return read;
    }

    /** Dismisses a notification on all of the user's devices, now; {@link Outbox#dismiss} does not wait for the network. */
    public void dismiss(long id) throws PushException {
        notifications.dismiss(id, null, options.deadline());
        tell();
    }

    /**
     * Sends a payload to the caller's own devices, now, and returns the stored notification.
     *
     * @param key the same each time that this is tried, such as a random UUID; the server remembers it for 24 hours
     */
    public Item send(Json payload, String key) throws PushException {
        return notifications.post(payload, key, options.deadline());
    }

    /** What need not wait for the network. */
    public Outbox outbox() {
        return outbox;
    }

    // Device and session

    /**
     * Registers this device, and returns the id that the server knows it by.
     *
     * @param platform the name of one of the server's senders, such as {@code fcm}
     * @param handle the provider's token for this device
     */
    public String register(String platform, String handle, Collection<String> tags) throws PushException {
        return new Registration(this, platform, handle, tags).register(options.deadline());
    }

    /**
     * The same, if something has changed, there is another session, or a week has passed; without a request otherwise.
     *
     * <p>A session that is ended at the server, by a new password, by an administrator or by signing out, takes its device along. Call
     * it at each start, and after signing in.
     */
    public String refreshRegistration(String platform, String handle, Collection<String> tags) throws PushException {
        Registration registration = new Registration(this, platform, handle, tags);
        Deadline deadline = options.deadline();
        String current = registration.current(WEEK, deadline);
        return current == null ? registration.register(deadline) : current;
    }

    /**
     * Whether a push is for this client's account: the one whose registration made its hint. A push without a hint is for an account
     * that does not share its device.
     *
     * <p>Of an app's clients at most one is the recipient. If none is, show nothing and fetch nothing: the account has signed out, or
     * a stranger has registered this device.
     */
    public boolean isRecipient(PushMessage push) throws PushException {
        String hint = push.accountHint();
        if (hint == null) return !options.isDeviceShared();
        String registration = account.read().index.registration;
        return registration != null && AccountHint.of(push.id(), registration).equals(hint);
    }

    /**
     * Signs in with a password, and keeps the token, sealed, for clients with {@link Credentials#kept}.
     *
     * <p>The client sends the password once the server has asked for it. {@link #signOut} removes the
     * token and the inbox in one step. A token expires and can be revoked: later calls are then
     * {@link PushException.Reason#UNAUTHORIZED}, and the user signs in again.
     *
     * <p>From then on the client takes answers for that account only, and so do others of the same store
     * and name. If it is another account than before, what is kept of that one is removed.
     */
    public Session signIn(String username, String password) throws PushException {
        Api api = new Api(options, Credentials.challenged(username, password), this.api.own());
        Session session = newSession(api, username);
        begin(session, session.token());
        return session;
    }

    /** Exchanges this client's password for a token. The app keeps the token. */
    public Session signIn() throws PushException {
        Session session = newSession(api, api.username());
        begin(session, null);
        return session;
    }

    private Session newSession(Api api, @Nullable String username) throws PushException {
        // Throws for a client that has signed out.
        account.read();
        Request request = new Request("POST", Paths.SESSIONS);
        request.isRepeatable = false;
        request.isSignIn = username != null;
        Answer answer = api.call(request, options.deadline());
        Session session = Session.read(answer.json, username == null ? answer.account : answer.account(username));
        if (session == null) throw answer.unexpected("a session");
        return session;
    }

    private void begin(Session session, @Nullable String keptToken) throws PushException {
        try {
            api.own().begin(session.account(), keptToken);
        } catch (PushException unkept) {
            // The token is lost, so its session must not go on.
            Json order = signOuts().order("Bearer " + session.token(), null, api.account(), session.account());
            signOuts().finishOnce(order, options.deadline());
            throw unkept;
        }
    }

    /**
     * Signs out: at once on this device, in all of its processes, and at the server as soon as it can be reached.
     *
     * <p>The client first removes the inbox and the kept token, which needs no free space and no
     * network. Every later call of this account's clients is {@link PushException.Reason#SIGNED_OUT}.
     * It then keeps the order to end session and device until the server has done so. If the disk is
     * still full, it asks the server once. If the token cannot end the device any more, the first
     * {@link #refresh} of the account's next sign-in does.
     *
     * @return whether the server has ended session and device; if not, call {@link #finishSignOuts}
     *     when there is a network
     */
    public boolean signOut() throws PushException {
        Index kept = account.last();
        String accountId = api.own().id();
        account.remove();
        tell();
        Deadline deadline = options.deadline();
        // The app's own provider may need its time: by now the inbox is gone.
        String authorization = kept.token == null ? api.lastAuthorization(deadline) : "Bearer " + kept.token;
        Json order = signOuts().order(authorization, kept.registration, api.account(), accountId);
        try {
            if (authorization != null || kept.registration != null) signOuts().keep(order);
        } catch (PushException full) {
            return signOuts().finishOnce(order, deadline);
        }
        try {
            // Without a credential there is a session at the server that nobody has ended.
            return finishSignOuts(options, store, deadline) && authorization != null;
        } catch (PushException later) {
            return false;
        }
    }

    SignOut signOuts() {
        return new SignOut(store, options);
    }

    Store store() {
        return store;
    }

    /** Tells the server of sign-outs that it does not know yet. Whether it has ended all of them. */
    public static boolean finishSignOuts(Options options, Store store) throws PushException {
        return finishSignOuts(options, store, options.deadline());
    }

    private static boolean finishSignOuts(Options options, Store store, Deadline deadline) throws PushException {
        SignOut signOut = new SignOut(store, options);
        try {
            return signOut.finish(deadline) && signOut.count() == 0;
        } catch (PushException error) {
            if (!error.leavesWhatIsKept()) throw error;
            return false;
        }
    }

    // Private

    /** What is shown: without what has ended by the device's clock, and with what waits in the outbox done. */
    private Inbox inbox(Map<Long, Item> instead) throws PushException {
        for (int attempt = 0; ; attempt++) {
            Account.Snapshot now = account.read();
            List<Item> items = new ArrayList<>();
            List<Long> missing = new ArrayList<>();
            for (long id : now.index.entries.keySet()) {
                Kept kept = now.entry(id);
                if (kept == null) missing.add(id);
                else items.add(instead.containsKey(id) ? instead.get(id) : kept.item);
            }
            // A commit may have replaced some while they were read. If none has, they are damaged.
            boolean isConclusive = missing.isEmpty() || account.read().commit == now.commit;
            if (isConclusive && !missing.isEmpty()) fetchAgain(missing, now.commit);
            if (!missing.isEmpty() && attempt < 100) continue;
            return new Inbox(shown(items, now.index), now.index.completeAt);
        }
    }

    /**
     * Gives up entries that cannot be read, and the cursor with them, so that the next refresh fetches all.
     *
     * <p>They are told as deleted: what is gone at the server meanwhile no page would name.
     */
    private void fetchAgain(final List<Long> ids, final long commit) throws PushException {
        account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                for (long id : ids) {
                    Index.Place place = draft.index.entries.get(id);
                    if (place == null || place.commit > commit) continue;
                    draft.remove(id);
                    draft.index.cursor = null;
                    draft.index.completeAt = 0;
                }
                return null;
            }
        });
    }

    private List<Item> shown(List<Item> items, Index index) {
        Map<Long, Index.Task.Kind> tasks = new HashMap<>();
        for (Index.Task task : index.outbox) tasks.put(task.id, task.kind);
        List<Item> shown = new ArrayList<>();
        long now = options.now();
        for (Item item : items) {
            Index.Task.Kind kind = tasks.get(item.id());
            if (item.expiresMillis() <= now || kind == Index.Task.Kind.DISMISS) continue;
            if (kind == Index.Task.Kind.READ) shown.add(item.read(true));
            else if (kind == Index.Task.Kind.UNREAD) shown.add(item.read(false));
            else shown.add(item);
        }
        Collections.sort(shown, new Comparator<Item>() {
            @Override
            public int compare(Item one, Item other) {
                int order = Long.compare(one.createdMillis(), other.createdMillis());
                return order != 0 ? order : Long.compare(one.id(), other.id());
            }
        });
        return shown;
    }

    /** Ends devices of this account that an earlier sign-out could not end. */
    private void endEarlierDevices(Deadline deadline) {
        try {
            signOuts().finish(api, api.account(), deadline);
        } catch (PushException later) {
            // They wait: the inbox that was just fetched is as good without.
        }
    }

    private void tell() {
        for (Runnable listener : listeners) listener.run();
    }
}
