package sealpost.client;

import androidx.annotation.Nullable;

/**
 * The reason why an answer is not the server's own answer to this request.
 *
 * <p>It contains no part of a payload or a credential, so an app may log it.
 */
public final class Interference {
    /**
     * The check that the answer failed; {@link #label} is the same in the clients for all
     * languages.
     */
    public enum Kind {
        /**
         * The answer does not echo {@code MyToken}: it comes from a captive portal or is a proxy's
         * error page, or a proxy has removed the field.
         */
        MISSING_ECHO("missingEcho"),
        /** The echo belongs to another request: the answer came from a cache. */
        WRONG_ECHO("wrongEcho"),
        /** The answer is a redirect, which the API does not use. The client does not follow it. */
        REDIRECT("redirect"),
        /** The signature is missing or wrong, though a key is pinned. */
        SIGNATURE("signature"),
        /**
         * The signature covers fewer parts than the client asks for, so the answer may belong to
         * another request.
         */
        INSUFFICIENT_COVERAGE("insufficientCoverage"),
        /**
         * The signature is valid, but the clocks of server and device are too far apart; or a
         * certificate is not valid at the device's time.
         */
        WRONG_CLOCK("wrongClock"),
        /**
         * The answer is for another account: a proxy has sent the request with other credentials.
         */
        WRONG_ACCOUNT("wrongAccount"),
        /**
         * The body has fewer bytes than its {@code Content-Length}, or the connection ended early.
         */
        TRUNCATED("truncated"),
        /** The body has more bytes than the client accepts. */
        OVERSIZED("oversized"),
        /** The body is not JSON. */
        NOT_JSON("notJSON"),
        /** The body is JSON, but not an answer to this request. */
        UNEXPECTED_BODY("unexpectedBody"),
        /** The answer contains a notification with another id than the requested id. */
        WRONG_ID("wrongID"),
        /** The answer is a 304, but the request had no validator, or a different one. */
        UNEXPECTED_NOT_MODIFIED("unexpectedNotModified"),
        /** The TLS certificate is not trusted, or has none of the pinned keys. */
        UNTRUSTED_KEY("untrustedKey");

        private final String label;

        Kind(String label) {
            this.label = label;
        }

        public String label() {
            return label;
        }
    }

    private final Kind kind;
    private final String expected;
    private final @Nullable String seen;
    private final int status;
    private final String path;

    /** Creates an interference, for tests. */
    public Interference(Kind kind, String expected, @Nullable String seen, int status, String path) {
        this.kind = kind;
        this.expected = expected;
        this.seen = seen;
        this.status = status;
        this.path = path;
    }

    public Kind kind() {
        return kind;
    }

    /** The checked value, as the server's own answer would have it. */
    public String expected() {
        return expected;
    }

    /** The checked value, as this answer had it; null if the answer had no such value. */
    public @Nullable String seen() {
        return seen;
    }

    /** The status of the answer; 0 if there was none. */
    public int status() {
        return status;
    }

    /** The path of the request, without its query. */
    public String path() {
        return path;
    }

    /**
     * A text for a log, such as {@code wrongEcho: expected 17003, saw 20, status 200 of
     * /api/register}.
     */
    @Override
    public String toString() {
        return kind.label + ": expected " + expected + ", saw " + (seen == null ? "nothing" : seen) + ", status "
                + status + " of " + path;
    }
}
