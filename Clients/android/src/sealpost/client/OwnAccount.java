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

    /** Stores the identifier and the token of a user's sign-in, in one step. */
    void begin(@Nullable String id, @Nullable String token, String user) throws PushClientException {
        if (account != null) account.begin(id, token, user);
        if (id != null) known = id;
    }

    private synchronized String remember(String id) {
        String first = known;
        if (first == null) known = first = id;
        return first;
    }
}
