package sealpost.client;

import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;

/** One call of the API. */
final class Request {
    final String method;
    /** Absolute and percent-encoded, below the server's URL and without a query. */
    final String path;

    private final StringBuilder query = new StringBuilder();
    @Nullable Json body;
    /** The validator of what is kept. */
    @Nullable String tag;
    /** The same each time that the request is sent. */
    @Nullable String idempotencyKey;
    /** Whether it may be sent again when the server may or may not have acted on it. */
    boolean isRepeatable = true;
    /** Whether it begins a session by a name: its 201 tells whose, whatever the client has known. */
    boolean isSignIn = false;

    Request(String method, String path) {
        this.method = method;
        this.path = path;
    }

    Request parameter(String name, String value) {
        query.append(query.length() == 0 ? "" : "&").append(name).append('=').append(escaped(value));
        return this;
    }

    /** For test vectors: a query as it is. */
    Request rawQuery(String text) {
        query.append(text);
        return this;
    }

    /** As sent, without the question mark. */
    String query() {
        return query.toString();
    }

    String target() {
        return query.length() == 0 ? path : path + '?' + query;
    }

    /** Everything but letters, digits and {@code -_.} is encoded: a handle may be a URL itself. */
    private static String escaped(String text) {
        try {
            return URLEncoder.encode(text, "UTF-8").replace("+", "%20").replace("*", "%2A");
        } catch (UnsupportedEncodingException missing) {
            throw new IllegalStateException("every platform has UTF-8", missing);
        }
    }
}
