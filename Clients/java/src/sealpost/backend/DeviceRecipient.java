package sealpost.backend;

/** A device of a user, for which a payload is encrypted. */
public final class DeviceRecipient {
    public final String user;
    public final DeviceKey key;

    public DeviceRecipient(String user, DeviceKey key) {
        this.user = user;
        this.key = key;
    }
}
