package sealpost.backend;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A difference between the server's list of keys and the pins. */
public final class KeyChange {
    /** The kinds of changes, which docs/end-to-end.md explains. */
    public enum Kind {
        /** The first contact with the user: the oldest key without an approval is trusted. */
        FIRST,
        /** A new device that a trusted device has approved. */
        ADDED,
        /** A new device that no trusted device has approved: compare its fingerprint. */
        UNAPPROVED,
        /** A trusted device that is missing in the list. */
        MISSING,
        /** A trusted device that was missing is in the list again. */
        RETURNED,
        /** A text that is not a key of the account. */
        INVALID,
        /** The user's account has another identifier than before. */
        ACCOUNT,
        /** No device of the user is trusted: nothing was encrypted for the user. */
        SKIPPED
    }

    public final String user;
    public final Kind kind;
    /** The id of the key; null for {@code INVALID}, {@code ACCOUNT} and {@code SKIPPED}. */
    public final @Nullable String key;
    /** A digest of the key in 30 digits, which people can compare; null if the list has no key. */
    public final @Nullable String fingerprint;

    KeyChange(String user, Kind kind, @Nullable String key, @Nullable String fingerprint) {
        this.user = user;
        this.kind = kind;
        this.key = key;
        this.fingerprint = fingerprint;
    }

    @Override
    public String toString() {
        return user + ": " + kind.name().toLowerCase(Locale.ROOT) + (key == null ? "" : " " + key)
                + (fingerprint == null ? "" : " (" + fingerprint + ")");
    }
}
