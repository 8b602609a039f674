package sealpost.client;

import androidx.annotation.Nullable;
import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;

/** One request to the API. */
final class Request {
    final String method;
    /** The path, absolute and percent-encoded, below the server's URL and without a query. */
    final String path;

    private final StringBuilder query = new StringBuilder();
    @Nullable Json body;
    /** The validator of the cached answer, which makes the request conditional. */
    @Nullable String tag;
    /** The idempotency key, which is the same for each attempt. */
    @Nullable String idempotencyKey;
    /**
     * Whether client and platform may send the request again, although the server may have carried
     * out the first request.
     */
    boolean isRepeatable = true;
    /**
     * Whether the request begins a session with a user name. A 201 to it names the session's
     * account, which may differ from the account that the client knows.
     */
    boolean isSignIn = false;

    /** Whether the client sends the request without its credentials. */
    boolean isAnonymous = false;

    Request(String method, String path) {
        this.method = method;
        this.path = path;
    }

    Request parameter(String name, String value) {
        query.append(query.length() == 0 ? "" : "&").append(name).append('=').append(escaped(value));
        return this;
    }

    /** For test vectors: an unescaped query. */
    Request rawQuery(String text) {
        query.append(text);
        return this;
    }

    /** The query as the client sends it, without the question mark. */
    String query() {
        return query.toString();
    }

    String target() {
        return query.length() == 0 ? path : path + '?' + query;
    }

    /** Encodes everything except letters, digits and {@code -_.}: a handle may be a URL itself. */
    static String escaped(String text) {
        try {
            return URLEncoder.encode(text, "UTF-8").replace("+", "%20").replace("*", "%2A");
        } catch (UnsupportedEncodingException missing) {
            throw new IllegalStateException("every platform has UTF-8", missing);
        }
    }
}
