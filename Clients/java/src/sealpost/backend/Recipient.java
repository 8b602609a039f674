package sealpost.backend;

/** A user's device to encrypt for. */
public final class Recipient {
    public final String user;
    public final DeviceKey key;

    public Recipient(String user, DeviceKey key) {
        this.user = user;
        this.key = key;
    }
}
