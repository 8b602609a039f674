package sealpost.client;

import androidx.annotation.Nullable;

/**
 * The identifier of the client's account, which each answer must have. The identifier is stored
 * with the account's other state.
 */
final class OwnAccount {
    /** Null if nothing is stored, such as for the requests that report a sign-out. */
    private final @Nullable Account account;

    private volatile @Nullable String known;
    private volatile boolean isStored = false;

    OwnAccount(@Nullable Account account, @Nullable String known) {
        this.account = account;
        this.known = known;
    }

    /** The identifier; null as long as it is unknown. */
    @Nullable String id() {
        if (known == null && account != null) {
            String stored = account.lastIndex().account;
            if (stored != null) remember(stored);
        }
        return known;
    }

    /** Throws if a sign-in has replaced the account to which a request belongs. */
    void require(@Nullable String asking) throws PushClientException {
        if (asking != null && !asking.equals(id())) throw PushClientException.signedOut();
    }

    /**
     * Stores the identifier that the first answer has named; false if another identifier is known
     * already.
     */
    boolean learn(final String id) {
        String decided = id;
        try {
            if (account != null) {
                decided = account.change(new Account.Change<String>() {
                    @Override
                    public String make(Draft draft) {
                        if (draft.index.account == null) draft.index.account = id;
                        return draft.index.account;
                    }
                });
            }
        } catch (PushClientException unstored) {
            // This client remembers the identifier in memory.
        }
        return remember(decided).equals(id);
    }

    /**
     * Stores an identifier that the app has set, so that the next account's sign-in knows whose
     * state is stored.
     */
    void store(String id) {
        if (isStored) return;
        isStored = true;
        learn(id);
    }

    /**
     * Stores the identifier and the token of a user's sign-in, in one step. Returns whether the
     * sign-in has replaced another account.
     */
    boolean begin(@Nullable String id, @Nullable String token, String user, Account.Ending ending) throws PushClientException {
        String former = known;
        // Before the token is stored: a call of the former account that runs now must not use it.
        if (id != null) known = id;
        try {
            return account != null && account.begin(id, token, user, ending);
        } catch (PushClientException unstored) {
            known = former;
            throw unstored;
        }
    }

    private synchronized String remember(String id) {
        String first = known;
        if (first == null) known = first = id;
        return first;
    }
}
