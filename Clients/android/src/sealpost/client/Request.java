package sealpost.client;

import androidx.annotation.Nullable;
import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** One request to the API. */
final class Request {
    /** The fields that the client or the platform sets. */
    private static final Set<String> OWN_FIELDS = new HashSet<>(Arrays.asList(
            "mytoken", "authorization", "if-none-match", "idempotency-key", "accept-signature", "content-type", "user-agent", "accept",
            "accept-encoding", "host", "connection", "content-length", "transfer-encoding", "expect"));

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

    /** The fields that the app adds. */
    Map<String, String> added = Collections.emptyMap();

    /** Whether the request has a message of the user, which no other account may get. */
    boolean hasMessage = false;

    /** The account for which alone the client may send the request; null for the account of the call. */
    @Nullable String account;

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

    /** Sets the fields that the app adds to this request. */
    void add(Headers headers) {
        added = new HashMap<>();
        for (Map.Entry<String, String> field : headers.fields(method, Paths.route(path)).entrySet()) {
            String name = field.getKey();
            if (!name.matches("[A-Za-z0-9!#$%&'*+.^_`|~-]+") || !field.getValue().matches("[\\t -~]*")) {
                throw new IllegalArgumentException("the field " + name + " of Options.headers is malformed");
            }
            if (!OWN_FIELDS.contains(name.toLowerCase(Locale.ROOT))) added.put(name, field.getValue());
        }
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
