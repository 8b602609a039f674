package sealpost.client;

/** Thrown if an end-to-end payload, or a device's public keys, cannot be used. */
public final class UnreadablePayloadException extends Exception {
    private static final long serialVersionUID = 1;

    /** The reasons, which docs/end-to-end.md explains. */
    public enum Reason {
        /** The payload is not encrypted end to end. */
        NOT_ENCRYPTED("notEncrypted"),
        /**
         * The payload has a version or cipher suite that this library does not know; update the
         * app.
         */
        UNSUPPORTED("unsupported"),
        /** A part of the payload or key does not have the form that the specification requires. */
        MALFORMED("malformed"),
        /** The app does not trust the payload's sender. */
        UNKNOWN_SENDER("unknownSender"),
        /**
         * The payload was encrypted for other devices, for example before this device had its
         * keys.
         */
        NOT_FOR_THIS_DEVICE("notForThisDevice"),
        /**
         * The payload is older than any payload that the server stores, or its time is in the
         * future.
         */
        EXPIRED("expired"),
        /** A part cannot be decrypted: somebody has changed or swapped parts of the payload. */
        UNREADABLE("unreadable"),
        /**
         * The message has already arrived with another notification: somebody has delivered it
         * twice.
         */
        REPLAYED("replayed"),
        /** The text of a device's public keys has a wrong signature. */
        SIGNATURE("signature"),
        /** A device's public keys belong to another account. */
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

    /** The reason why the payload or the keys cannot be used. */
    public Reason reason() {
        return reason;
    }
}
