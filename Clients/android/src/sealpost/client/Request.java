package sealpost.client;

import androidx.annotation.Nullable;
import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;

/** One call of the API. */
final class Request {
    final String method;
    /** The path, absolute and percent-encoded, below the server's URL and without a query. */
    final String path;

    private final StringBuilder query = new StringBuilder();
    @Nullable Json body;
    /** The validator of the cached answer. */
    @Nullable String tag;
    /** The key, the same for each attempt. */
    @Nullable String idempotencyKey;
    /**
     * Whether client and platform may send the request again when the server may have acted on it.
     */
    boolean isRepeatable = true;
    /**
     * Whether the request begins a session by name: its 201 names the account, even if the client
     * knew another.
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

    /** The query as sent, without the question mark. */
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
