package sealpost.client;

/** An end-to-end payload, or a device's key, cannot be used. */
public final class UnreadablePayloadException extends Exception {
    private static final long serialVersionUID = 1;

    /** Why; docs/end-to-end.md explains the words. */
    public enum Reason {
        /** The payload is not encrypted end to end. */
        NOT_ENCRYPTED("notEncrypted"),
        /** It has another version or suite than this library knows; update the app. */
        UNSUPPORTED("unsupported"),
        /** A part has another form. */
        MALFORMED("malformed"),
        /** The app does not trust its sender. */
        UNKNOWN_SENDER("unknownSender"),
        /** It was encrypted for other devices, for example before this one had its keys. */
        NOT_FOR_THIS_DEVICE("notForThisDevice"),
        /** It is older than any payload that the server keeps, or from the future. */
        EXPIRED("expired"),
        /** A decryption fails: somebody has changed or swapped a part. */
        UNREADABLE("unreadable"),
        /** Its message came with another notification before: somebody delivers it twice. */
        REPLAYED("replayed"),
        /** A device's key has a wrong signature. */
        SIGNATURE("signature"),
        /** A device's key belongs to another account. */
        ACCOUNT("account");

        final String word;

        Reason(String word) {
            this.word = word;
        }
    }

    private final Reason reason;

    UnreadablePayloadException(Reason reason) {
        super(reason.word);
        this.reason = reason;
    }

    /** Why. */
    public Reason reason() {
        return reason;
    }
}
