package sealpost.client;

import androidx.annotation.Nullable;

/**
 * A proof that an answer is not the server's own to this request.
 *
 * <p>It contains nothing of a payload or a credential, so it is safe to log.
 */
public final class Interference {
    /** The check that the answer failed; {@link #label} is the same in all clients. */
    public enum Kind {
        /**
         * The answer does not echo {@code MyToken}: a captive portal, an error page of a proxy, a
         * removed field.
         */
        MISSING_ECHO("missingEcho"),
        /** The echo belongs to another request: a cache. */
        WRONG_ECHO("wrongEcho"),
        /** A redirect, which the API does not use. It is not followed. */
        REDIRECT("redirect"),
        /** The signature is missing or wrong, though a key is pinned. */
        SIGNATURE("signature"),
        /**
         * The signature covers less than the request demanded: the answer may belong to another
         * request.
         */
        INSUFFICIENT_COVERAGE("insufficientCoverage"),
        /** The signature is valid, but the clocks of server and device are too far apart. */
        WRONG_CLOCK("wrongClock"),
        /**
         * The answer is for another account: a proxy has sent the request with other credentials.
         */
        WRONG_ACCOUNT("wrongAccount"),
        /** The body is shorter than announced, or the connection ended within it. */
        TRUNCATED("truncated"),
        /** The body has more bytes than the client accepts. */
        OVERSIZED("oversized"),
        /** The body is not JSON. */
        NOT_JSON("notJSON"),
        /** The body is JSON, but not an answer to this request. */
        UNEXPECTED_BODY("unexpectedBody"),
        /** The answer has another notification than the requested one. */
        WRONG_ID("wrongID"),
        /** The answer is a 304, but the request had no validator or another one. */
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

    /** An interference, for tests. */
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

    /** The value in the server's own answer. */
    public String expected() {
        return expected;
    }

    /** The value in this answer; null if it had none. */
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

    /** For a log: {@code wrongEcho: expected 17003, saw 20, status 200 of /api/register}. */
    @Override
    public String toString() {
        return kind.label + ": expected " + expected + ", saw " + (seen == null ? "nothing" : seen) + ", status "
                + status + " of " + path;
    }
}
