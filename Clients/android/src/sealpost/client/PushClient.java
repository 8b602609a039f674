package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A Sealpost client on a device, for one account of one server.
 *
 * <pre>{@code
 * PushClient client = new PushClient(
 *     new Options("https://push.example.org", Signatures.pinned(verifier, new VerificationKey(PINNED))),
 *     Credentials.stored("alice"),
 *     new Store(new File(context.getNoBackupFilesDir(), "sealpost"), keystoreKey));
 * show(client.cachedInbox());                    // at once, without network
 * Fetched<Inbox> inbox = client.sync();         // everything missed
 * }</pre>
 *
 * <p>Calls block, may run concurrently on any number of threads, and each ends within {@link
 * Options#deadlineMillis}. Calls that need the network throw {@link IllegalStateException} on
 * Android's main thread. If an answer does not echo its request's {@code MyToken}, or has no
 * signature although keys are pinned, the call throws an {@link Interference}.
 */
public final class PushClient {
    private static final long WEEK = 7 * 86_400_000L;

    final Options options;
    final Api api;
    final Account account;
    private final Store store;
    final Notifications notifications = new Notifications(this);
    private final Outbox outbox = new Outbox(this);
    private final Devices devices = new Devices(this);
    private final Payloads payloads = new Payloads(this);
    /** Whether the server has confirmed to this client that the registration exists. */
    private volatile boolean isRegistrationChecked = false;
    private volatile boolean hasSignedOut = false;

    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    /**
     * Creates a client. Clients share stored state if they have the same server, account and app,
     * and if both or neither require signatures.
     */
    public PushClient(Options options, Credentials credentials, Store store) {
        this.options = options;
        this.store = store;
        String app = options.ownApp() == null ? "" : options.ownApp();
        String proof = options.isSigned() ? "signed" : "echoed";
        String user = credentials.account();
        this.account = new Account(store, options.base() + '\n' + user + '\n' + app + '\n' + proof, user);
        this.api = new Api(options, credentials.of(account), new OwnAccount(account, credentials.accountId()));
    }

    // Stored state

    /**
     * The cached inbox, at once and without network; empty before the first sign-in.
     *
     * <p>A client's first call reads all entries; later calls read only new entries.
     */
    public Inbox cachedInbox() throws PushClientException {
        return inbox(Collections.<Long, NotificationItem>emptyMap());
    }

    /** A cached notification with its payload; null if the notification is not cached. */
    public @Nullable NotificationItem cachedNotification(long id) throws PushClientException {
        Account.Snapshot now = account.read();
        CachedItem cached = now.entry(id);
        if (cached == null || cached.item.payload() == null) return null;
        List<Facts> facts = Collections.singletonList(new Facts(cached.item, now.index.entries.get(id)));
        List<NotificationItem> shown = shown(facts, now, Collections.<Long, NotificationItem>emptyMap());
        return shown.isEmpty() ? null : shown.get(0);
    }

    /**
     * The changes by any process of the app since the last changes that a consumer has confirmed.
     * A consumer is a part of the app that reads the changes.
     *
     * <p>The first call for a consumer returns everything. Later calls return changes again until
     * the consumer confirms them, so no change is lost in a crash.
     *
     * @param consumer the name of the consumer, of at most 128 characters
     */
    public InboxChanges changes(String consumer) throws PushClientException {
        if (consumer.length() > 128) throw new IllegalArgumentException("the name of a consumer is too long");
        Account.Snapshot now = account.read();
        Long mark = now.index.marks.get(consumer);
        long since = mark == null ? 0 : mark;
        // If deletions of that time are unknown, only the full list shows which notifications are
        // gone.
        boolean isEverything = now.index.forgottenUpTo > since;
        Set<Long> arrived = new HashSet<>();
        for (Map.Entry<Long, Index.Place> entry : now.index.entries.entrySet()) {
            if (isEverything || entry.getValue().commit > since) arrived.add(entry.getKey());
        }
        Set<Long> deleted = new HashSet<>();
        for (Map.Entry<Long, Long> entry : now.index.deletions.entrySet()) {
            if (entry.getValue() > since) deleted.add(entry.getKey());
        }
        return new InboxChanges(consumer, now.written(), arrived, deleted, isEverything);
    }

    /**
     * Records that a consumer has processed these changes. The client remembers the 16 consumers
     * with the latest confirmations; other consumers receive everything again.
     */
    public void confirm(final InboxChanges changes) throws PushClientException {
        account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                Long mark = draft.index.marks.get(changes.consumer);
                if (mark != null && mark >= changes.upTo) return null;
                // The mark is removed first, so that it is then at the end: the order is that of
                // the confirmations.
                draft.index.marks.remove(changes.consumer);
                draft.index.marks.put(changes.consumer, changes.upTo);
                return null;
            }
        });
    }

    /**
     * Calls the listener after each change that this client has made, on the thread of that call.
     */
    public void addListener(Runnable listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
    }

    public void removeListener(Runnable listener) {
        listeners.remove(listener);
    }

    // Network

    /**
     * Sends the outbox's tasks, and fetches all changes.
     *
     * <p>If the network fails or changes answers, or the server is busy, the call returns the
     * cached inbox and the reason; without a cached inbox it throws. On a full disk the client
     * continues in memory, and writes the changes later.
     */
    public Fetched<Inbox> sync() throws PushClientException {
        Deadline deadline = options.deadline();
        Sync sync = new Sync(this, deadline);
        try {
            try {
                outbox.flush(deadline);
            } catch (PushClientException error) {
                // A task that the server does not accept now must not block the fetch.
                PushClientException.Reason reason = error.reason();
                boolean isOfTask = reason == PushClientException.Reason.BUSY || reason == PushClientException.Reason.PROBLEM
                        || reason == PushClientException.Reason.STORAGE;
                if (!isOfTask) throw error;
            }
            Inbox inbox = null;
            // Reading all notifications shows whether a file is lost. A second sync replaces it.
            for (int attempt = 0; attempt < 2 && (inbox == null || !inbox.isComplete()); attempt++) {
                sync.run();
                inbox = inbox(sync.unstored);
            }
            if (inbox == null || !inbox.isComplete()) throw Account.busy();
            endEarlierDevices(deadline);
            return Fetched.fresh(inbox);
        } catch (PushClientException error) {
            if (!error.allowsCached()) throw error;
            Inbox cached = inbox(sync.unstored);
            // A first sync that was interrupted has cached some pages.
            if (cached.syncedAt() == null && cached.notifications().isEmpty()) throw error;
            return Fetched.cached(cached, cached.syncedAt(), error);
        } finally {
            notifyListeners();
        }
    }

    /**
     * Fetches a notification by the id of its push when the user opens it. To show a push on the
     * screen, call {@link #preview}.
     *
     * <p>Returns the cached notification if the server cannot be reached. If the server says that
     * the notification is gone, the client deletes its copy and throws. The client does not cache
     * a payload that can be fetched only once. The server returns such a payload for one minute
     * after the first fetch: show or store it, then call {@link #confirmTaken}.
     */
    public Fetched<NotificationItem> notification(long id) throws PushClientException {
        try {
            return notifications.fetch(id);
        } finally {
            notifyListeners();
        }
    }

    /**
     * The notification of a push, to show on the screen; null if it was recalled or dismissed, or
     * has expired.
     *
     * <p>The call does not fetch a read-once payload, so that the app can still fetch it when the
     * user opens it: {@link NotificationItem#payload} is then null. If the server cannot be
     * reached, the call returns the cached notification; without one it throws.
     */
    public @Nullable NotificationItem preview(long id) throws PushClientException {
        try {
            return notifications.preview(id);
        } finally {
            notifyListeners();
        }
    }

    /**
     * Confirms that a read-once payload has arrived, so that the server erases it at once.
     *
     * <p>Without this call the server erases the payload a minute after the first fetch.
     */
    public void confirmTaken(long id) throws PushClientException {
        notifications.confirmTaken(id);
        notifyListeners();
    }

    /**
     * Marks a notification as read or unread at the server; throws without a network. {@link
     * Outbox#markRead} does not wait for the network.
     */
    public NotificationItem markRead(long id, boolean isRead) throws PushClientException {
        NotificationItem item = notifications.mark(id, isRead, null, options.deadline());
        notifyListeners();
        return item;
    }

    /**
     * Marks up to 500 notifications as read in one request, and returns the ids of those that are
     * now read.
     */
    public Set<Long> markRead(Collection<Long> ids) throws PushClientException {
        Set<Long> read = notifications.markRead(new ArrayList<>(ids), Collections.<String>emptySet(), options.deadline());
        notifyListeners();
        return read;
    }

    /**
     * Dismisses a notification on all of the user's devices; throws without a network. {@link
     * Outbox#dismiss} does not wait for the network.
     */
    public void dismiss(long id) throws PushClientException {
        notifications.dismiss(id, null, options.deadline());
        notifyListeners();
    }

    /**
     * Sends a payload to the user's own devices, and returns the notification that the server has
     * stored; throws without a network.
     *
     * @param key a text that is the same for each attempt, such as a random UUID; the server
     * stores it for 24 hours
     */
    public NotificationItem send(Json payload, String key) throws PushClientException {
        return notifications.post(payload, key, options.deadline());
    }

    /**
     * Opens the end-to-end payload of a notification as {@link #openPayloads} does.
     *
     * @throws UnreadablePayloadException if the payload cannot be used
     */
    public OpenedPayload openPayload(NotificationItem item, DeviceKeys keys, List<String> senders)
        throws UnreadablePayloadException, PushClientException {
        return openPayloads(Collections.singletonList(item), keys, senders).get(0).get();
    }

    /**
     * Opens the end-to-end payloads of notifications, and stores the ids of their messages.
     *
     * <p>The result is {@code REPLAYED} if the message has already arrived with another
     * notification. It is {@code NOT_ENCRYPTED} for an unencrypted payload: an app that requires
     * encryption does not show it. The payloads must be for {@link Options#app}. Signing out
     * deletes the stored ids of messages. So create new keys for the next session: old messages
     * are not encrypted for them.
     *
     * @param items notifications that this client has fetched
     * @param senders the public keys of the backends that the app trusts, 87 characters each
     * @return a result for each item, in the order of {@code items}
     */
    public List<OpenedPayload.Result> openPayloads(List<NotificationItem> items, DeviceKeys keys, List<String> senders)
        throws PushClientException {
        return payloads.open(items, keys, senders);
    }

    /**
     * The identifier of the client's account, as {@link Session#account()}. Null before the first
     * sign-in, or before the first answer that has an identifier. Throws for a client that has
     * signed out.
     */
    public @Nullable String accountId() throws PushClientException {
        account.read();
        return api.own().id();
    }

    /** The tasks that do not wait for the network. */
    public Outbox outbox() {
        return outbox;
    }

    /** The account's devices and their topics. */
    public Devices devices() {
        return devices;
    }

    // Device and session

    /**
     * Registers this device, and returns the id of its registration. In one process, clients that
     * use the same folder register one after the other. Clients in other processes register under
     * the same id.
     *
     * <p>With {@link Options#deviceKey}, the call also gives the server the device's public keys,
     * unless the server has them. If the server lists other keys for a device that was registered
     * before, the call registers, and then throws {@link PushClientException.Reason#KEY_REPLACED}.
     * At the first registration after a sign-out, or after {@link Store#reset}, the device's keys
     * replace the listed keys.
     *
     * @param platform the name of a sender in the server's configuration, such as {@code fcm}
     * @param handle the provider's token for this device; empty for {@code stream}, which has none
     */
    public String register(String platform, String handle, Collection<String> tags) throws PushClientException {
        return register(new Registration(this, platform, handle, tags), false, options.deadline());
    }

    private String register(Registration registration, boolean isOnlyIfNeeded, Deadline deadline) throws PushClientException {
        ReentrantLock lock = store.registration();
        deadline.acquire(lock);
        try {
            // Another thread may have registered this device meanwhile.
            String current = isOnlyIfNeeded && isRegistrationChecked ? registration.current(WEEK, deadline) : null;
            if (current != null) return current;
            String id = registration.register(deadline);
            isRegistrationChecked = true;
            return id;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Registers this device if the handle, the platform, the tags or the session have changed, or
     * a week has passed.
     *
     * <p>Otherwise the first call of each client asks the server whether the registration still
     * exists, and later calls send no request. The server ends a registration if the provider
     * reports that the device is gone.
     *
     * <p>The registration also ends with its session, for example because of a new password, an
     * administrator or a sign-out. Call this function at each start of the app, and after signing
     * in.
     *
     * <p>With {@link Options#deviceKey}, the call also gives the server the device's public keys, if
     * the server has lost them. If the server lists other keys for this device, the call throws
     * {@link PushClientException.Reason#KEY_REPLACED}. The registration is then still valid.
     */
    public String registerIfNeeded(String platform, String handle, Collection<String> tags) throws PushClientException {
        Registration registration = new Registration(this, platform, handle, tags);
        Deadline deadline = options.deadline();
        String current = registration.current(WEEK, deadline);
        if (current != null && (isRegistrationChecked || !isRetired(current, deadline))) return current;
        return register(registration, true, deadline);
    }

    private boolean isRetired(String registration, Deadline deadline) throws PushClientException {
        try {
            isRegistrationChecked = devices.isListed(registration, false, deadline);
            return !isRegistrationChecked;
        } catch (PushClientException unanswered) {
            PushClientException.Reason reason = unanswered.reason();
            if (reason == PushClientException.Reason.SIGNED_OUT || reason == PushClientException.Reason.KEY_REPLACED) throw unanswered;
            // Without the server's answer the registration counts as valid, and the next call asks
            // again.
            return false;
        }
    }

    /**
     * Whether a push is for this client's account, whose registration made the push's hint. A push
     * without a hint is for an account that does not share its device, and is signed in.
     *
     * <p>A push is for at most one of an app's clients. If it is for no client, show nothing and
     * fetch nothing: the account has signed out, or somebody else has registered this device. A
     * client that has signed out itself throws {@link PushClientException.Reason#SIGNED_OUT}.
     */
    public boolean isRecipient(PushMessage push) throws PushClientException {
        // Throws for a client that has signed out.
        String registration = account.read().index.registration;
        String hint = push.accountHint();
        if (hint == null) return !options.isDeviceShared() && api.mayHaveCredential();
        return registration != null && AccountHint.of(push.id(), registration).equals(hint);
    }

    /**
     * Signs in with a password, and stores the token, encrypted, for clients with
     * {@link Credentials#stored}.
     *
     * <p>The client sends the password only after the server has asked for it. {@link #signOut}
     * removes the token and the inbox in one step. A token expires and can be revoked: later calls
     * then throw {@link PushClientException.Reason#UNAUTHORIZED}, and the user signs in again.
     *
     * <p>From then on, this client and others with the same store and name accept only answers for
     * the session's account. If the session belongs to another account than before, the client
     * removes the stored state of the old account, and ends the old session and its device at the
     * server, as {@link #signOut} does. It also does so if tasks of the outbox were stored before
     * the first answer, under another name than {@code username}.
     */
    public Session signIn(String username, String password) throws PushClientException {
        Deadline deadline = options.deadline();
        Api api = new Api(options, Credentials.typed(username, password), this.api.own());
        Session session = newSession(api, username, deadline);
        begin(session, session.token(), api.account(), deadline);
        return session;
    }

    /**
     * Signs in with a one-time code from an administrator or from the app's backend, for users
     * without a password. Stores the token as {@link #signIn(String, String)} does.
     *
     * <p>A code does not name an account; the server's answer does.
     */
    public Session signInWithCode(String code) throws PushClientException {
        // Throws for a client that has signed out.
        account.read();
        Deadline deadline = options.deadline();
        Request request = new Request("POST", Paths.ENROLMENT);
        request.isRepeatable = false;
        request.isSignIn = true;
        request.isAnonymous = true;
        request.body = Json.object().with("Code", Json.of(code));
        Answer answer = api.call(request, deadline);
        Json id = answer.json == null ? null : answer.json.get("Account");
        Session session = Session.read(answer.json, id == null ? null : id.string());
        if (session == null) throw answer.unexpected("a session");
        // A code names no user.
        begin(session, session.token(), "", deadline);
        return session;
    }

    /**
     * Changes the user's password from {@code current} to {@code replacement}. If {@code current}
     * is wrong, the problem is {@code wrong-password}.
     *
     * <p>The server then ends all sessions of the user, including this one, and the registrations
     * of their devices. So sign in again with the new password, and register this device again.
     *
     * <p>After {@link PushClientException.Reason#OFFLINE} or an interference, the server may have
     * changed the password nevertheless. Sign in with the new password, and if the server refuses
     * it, with the old one.
     */
    public void changePassword(String current, String replacement) throws PushClientException {
        Request request = new Request("PUT", Paths.PASSWORD);
        // After a change, the server would refuse a repetition, as its session has ended.
        request.isRepeatable = false;
        request.body = Json.object().with("Current", Json.of(current)).with("New", Json.of(replacement));
        api.call(request, options.deadline());
    }

    /** Exchanges this client's password for a token, which the app stores. */
    public Session signIn() throws PushClientException {
        Deadline deadline = options.deadline();
        Session session = newSession(api, api.username(), deadline);
        begin(session, null, api.account(), deadline);
        return session;
    }

    private Session newSession(Api api, @Nullable String username, Deadline deadline) throws PushClientException {
        // Throws for a client that has signed out.
        account.read();
        Request request = new Request("POST", Paths.SESSIONS);
        request.isRepeatable = false;
        request.isSignIn = username != null;
        Answer answer = api.call(request, deadline);
        Session session = Session.read(answer.json, username == null ? answer.account : answer.account(username));
        if (session == null) throw answer.unexpected("a session");
        return session;
    }

    private void begin(Session session, @Nullable String storedToken, String user, Deadline deadline)
        throws PushClientException {
        boolean hasReplaced;
        try {
            hasReplaced = api.own().begin(session.account(), storedToken, user, new Account.Ending() {
                @Override
                public void store(Index former) throws PushClientException {
                    String token = former.token == null ? api.lastToken() : "Bearer " + former.token;
                    if (token == null && former.registration == null) return;
                    signOuts().add(signOuts().order(token, former.registration, api.account(), former.account));
                }
            });
        } catch (PushClientException unstored) {
            // The token could not be stored, so nobody could use the session: the client ends it.
            signOuts().end(
                    signOuts().order("Bearer " + session.token(), null, api.account(), session.account()), options.deadline());
            throw unstored;
        }
        if (storedToken != null) api.begin(storedToken);
        if (!hasReplaced) return;
        notifyListeners();
        finishEarlierSignOuts(deadline);
    }

    /**
     * Signs out: at once on this device, in all of its processes, and at the server as soon as it
     * can be reached.
     *
     * <p>The client first removes the inbox and the stored token, which needs no free space and no
     * network. Every later call of this account's clients throws {@link
     * PushClientException.Reason#SIGNED_OUT}. Then the client stores an order to end the session
     * and the device, until the server has ended both. If the disk is still full, the client asks
     * the server only once. If the token can no longer end the device, the first {@link #sync} of
     * the account's next session ends it.
     *
     * <p>If another sign-in has replaced this client's account, or another client has signed it
     * out, the call leaves the stored state. It ends only this client's session, if it knows the
     * token.
     *
     * @return whether the server has confirmed the end of session and device; if not, call {@link
     * #finishSignOuts} when there is a network. False if this client has signed out before.
     */
    public boolean signOut() throws PushClientException {
        // This check comes before anything is removed.
        MainThread.refuse();
        Index cached = account.lastIndex();
        String accountId = api.own().id();
        boolean isOfOther = accountId != null && cached.account != null && !accountId.equals(cached.account);
        boolean isStored = !isOfOther && account.remove();
        if (!isStored && hasSignedOut) return false;
        hasSignedOut = true;
        Deadline deadline = options.deadline();
        if (!isStored) {
            boolean isOwnToken = !isOfOther && cached.token != null;
            return endOwnSession(isOwnToken ? "Bearer " + cached.token : api.ownToken(deadline), accountId, deadline);
        }
        notifyListeners();
        // The inbox is removed before this line, because the app's token provider may be slow.
        String authorization = cached.token == null ? api.lastAuthorization(deadline) : "Bearer " + cached.token;
        Json order = signOuts().order(authorization, cached.registration, api.account(), accountId);
        // Without a credential and a device there is nothing to end.
        boolean isEnded = (authorization != null || cached.registration != null) && signOuts().end(order, deadline);
        // Earlier sign-outs wait for the network, too.
        if (isEnded || authorization == null) finishEarlierSignOuts(deadline);
        return isEnded;
    }

    /** Ends the session of this client, whose account is no longer in the store. */
    private boolean endOwnSession(@Nullable String token, @Nullable String accountId, Deadline deadline) {
        if (token == null) return false;
        try {
            boolean isGiven = accountId != null && signOuts().give(token, api.account(), accountId, deadline);
            if (isGiven) finishSignOuts(options, store, deadline);
        } catch (PushClientException later) {
            // The orders stay for the next call.
        }
        return signOuts().end(signOuts().order(token, null, api.account(), accountId), deadline);
    }

    private void finishEarlierSignOuts(Deadline deadline) {
        try {
            finishSignOuts(options, store, deadline);
        } catch (PushClientException later) {
            // Their orders stay for the next call.
        }
    }

    SignOut signOuts() {
        return new SignOut(store, options);
    }

    Store store() {
        return store;
    }

    /**
     * Reports pending sign-outs to the server. Returns whether the server has confirmed all of
     * them.
     */
    public static boolean finishSignOuts(Options options, Store store) throws PushClientException {
        return finishSignOuts(options, store, options.deadline());
    }

    private static boolean finishSignOuts(Options options, Store store, Deadline deadline) throws PushClientException {
        SignOut signOut = new SignOut(store, options);
        try {
            return signOut.finish(deadline) && signOut.count() == 0;
        } catch (PushClientException error) {
            if (!error.allowsCached()) throw error;
            return false;
        }
    }

    // Private

    /**
     * The inbox to show: without notifications that have expired by the device's clock, and with
     * the outbox's tasks applied.
     */
    private Inbox inbox(Map<Long, NotificationItem> unstored) throws PushClientException {
        for (int attempt = 0; ; attempt++) {
            Account.Snapshot now = account.read();
            Map<Long, Facts> facts = account.facts(now);
            List<Long> missing = new ArrayList<>();
            for (long id : now.index.entries.keySet()) {
                if (!facts.containsKey(id)) missing.add(id);
            }
            // A commit during the read may have replaced the missing contents. If there was no
            // commit, the contents are damaged.
            boolean isConclusive = missing.isEmpty() || account.read().commit == now.commit;
            if (isConclusive && !missing.isEmpty()) fetchAgain(missing, now.commit);
            if (!missing.isEmpty() && attempt < 100) continue;
            return new Inbox(shown(facts.values(), now, unstored), now.index.syncedAt);
        }
    }

    /**
     * The latest content of an entry whose file is missing; null if the entry is gone or damaged.
     */
    @Nullable CachedItem replacement(Facts facts) throws PushClientException {
        Account.Snapshot now = account.read();
        CachedItem cached = now.entry(facts.id);
        Index.Place place = now.index.entries.get(facts.id);
        if (cached == null && place != null && place.isSame(facts.place)) {
            fetchAgain(Collections.singletonList(facts.id), now.commit);
        }
        return cached;
    }

    /**
     * Drops unreadable entries and the cursor, so that the next sync fetches everything.
     *
     * <p>These entries count as deleted, because no page lists notifications that the server has
     * deleted meanwhile.
     */
    private void fetchAgain(final List<Long> ids, final long commit) throws PushClientException {
        account.cache(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                for (long id : ids) {
                    Index.Place place = draft.index.entries.get(id);
                    if (place == null || place.commit > commit) continue;
                    draft.remove(id);
                    draft.index.cursor = null;
                    draft.index.syncedAt = 0;
                }
                return null;
            }
        });
    }

    /**
     * The notifications to show, in the order in which they were sent. The order is that of the
     * index, because the server's times are in whole seconds.
     */
    private LazyItems shown(Collection<Facts> all, Account.Snapshot state, Map<Long, NotificationItem> unstored) {
        Map<Long, Index.Task.Kind> tasks = new HashMap<>();
        for (Index.Task task : state.index.outbox) tasks.put(task.id, task.kind);
        List<Facts> shown = new ArrayList<>();
        long now = options.now();
        for (Facts facts : all) {
            if (facts.expiresAt > now && tasks.get(facts.id) != Index.Task.Kind.DISMISS) shown.add(facts);
        }
        Collections.sort(shown, new Comparator<Facts>() {
            @Override
            public int compare(Facts one, Facts other) {
                return Long.compare(one.createdAt, other.createdAt);
            }
        });
        return new LazyItems(this, state, shown, unstored, tasks);
    }

    /** Ends devices of this account that an earlier sign-out could not end. */
    private void endEarlierDevices(Deadline deadline) {
        ReentrantLock lock = store.registration();
        // A registration that runs now may get the id of an earlier device.
        if (!lock.tryLock()) return;
        try {
            signOuts().finish(api, api.account(), deadline);
        } catch (PushClientException later) {
            // The orders stay for the next sync; the inbox is complete without them.
        } finally {
            lock.unlock();
        }
    }

    private void notifyListeners() {
        for (Runnable listener : listeners) listener.run();
    }
}
