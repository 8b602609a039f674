package sealpost.backend;

import java.util.List;

/** Thrown if no device of the recipients is trusted. Nothing was sent. */
public final class NoTrustedDevice extends SealpostException {
    private static final long serialVersionUID = 1;

    /** The changes of keys that are the reason why no device is trusted. */
    public final transient List<KeyChange> changes;

    NoTrustedDevice(List<KeyChange> changes) {
        super("there is no trusted device: " + (changes.isEmpty() ? "no keys" : changes), false, null, null);
        this.changes = changes;
    }
}
