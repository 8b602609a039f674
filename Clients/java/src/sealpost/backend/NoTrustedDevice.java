package sealpost.backend;

import java.util.List;

/** No device may be encrypted for; nothing was sent. */
public final class NoTrustedDevice extends SealpostException {
    private static final long serialVersionUID = 1;

    /** The changes of keys that are the reason. */
    public final transient List<KeyChange> changes;

    NoTrustedDevice(List<KeyChange> changes) {
        super("there is no trusted device: " + (changes.isEmpty() ? "no keys" : changes), false, null, null);
        this.changes = changes;
    }
}
