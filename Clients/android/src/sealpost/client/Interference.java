package sealpost.client;

/**
 * A proof that an answer is not the server's own to this request.
 *
 * <p>It never holds anything of a payload or a credential, so that it may be logged.
 */
public final class Interference {
    /** Which check the answer failed; {@link #label} is the same in all clients. */
    public enum Kind {
        /** The answer does not echo {@code MyToken}: a captive portal, an error page of a proxy, a removed field. */
        MISSING_ECHO("missingEcho"),
        /** The echo belongs to another request: a cache. */
        WRONG_ECHO("wrongEcho"),
        /** A redirect, which the API does not use. It is not followed. */
        REDIRECT("redirect"),
        /** The signature is missing or wrong, though a key is pinned. */
        SIGNATURE("signature"),
        /** The signature covers less than was asked for: an answer that may have been made for another request. */
        INSUFFICIENT_COVERAGE("insufficientCoverage"),
        /** The signature is right, but the clocks of server and device are too far apart. */
        WRONG_CLOCK("wrongClock"),
        /** The answer is for another account: a proxy has sent the request with other credentials. */
        WRONG_ACCOUNT("wrongAccount"),
        /** The body has fewer bytes than were announced, or the connection ended in the middle. */
        TRUNCATED("truncated"),
        /** More bytes than the client takes. */
        OVERSIZED("oversized"),
        /** The body is not JSON. */
        NOT_JSON("notJSON"),
        /** The body is JSON, but not what this request is answered with. */
        UNEXPECTED_BODY("unexpectedBody"),
        /** Another notification than the one that was asked for. */
        WRONG_ID("wrongID"),
        /** 304 to a request that had no validator, or for another one than it had. */
        UNEXPECTED_NOT_MODIFIED("unexpectedNotModified"),
        /** The TLS certificate is not trusted, or has none of the keys that are pinned. */
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

    Interference(Kind kind, String expected, @Nullable String seen, int status, String path) {
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

    /** The path that was asked for, without its query. */
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
