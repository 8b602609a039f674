package sealpost.backend;

import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A backend's connection to a Sealpost server, for one account. Several threads may share it.
 *
 * <p>Until its deadline, a call repeats requests that have failed temporarily. It waits at least
 * as long as {@code Retry-After} says. It repeats a post only if the post has an idempotency key.
 * Each error is a {@link SealpostException}.
 */
public final class Client {
    private static final String NOTIFICATIONS = "/api/notifications";
    /** The methods of the API. */
    private static final List<String> METHODS = List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");
    /**
     * The maximum number of notifications and of bytes in a batch. The number is the server's
     * limit; the bytes are below the default of {@code notifications.maxBatch}.
     */
    private static final int BATCH_ELEMENTS = 500;

    private static final int BATCH_BYTES = 4_000_000;

    private final Calls calls;
    /** The end of a call that begins now, as a time of {@code System.nanoTime}. */
    private final LongSupplier end;

    private final int pageSize;

    /** Creates a client with the token of a publisher. */
    public Client(String server, String token) {
        this(builder(server).token(token));
    }

    private Client(Builder builder) {
        if (builder.authorization == null) throw new IllegalArgumentException("a client needs a token or a user");
        calls = new Calls(builder, builder.authorization);
        end = endAfter(builder.deadline);
        pageSize = builder.pageSize;
    }

    private Client(Client other, LongSupplier end) {
        this.calls = other.calls;
        this.pageSize = other.pageSize;
        this.end = end;
    }

    /**
     * The options of a client for a server, whose URL is for example {@code
     * https://push.example.com}.
     */
    public static Builder builder(String server) {
        return new Builder(server);
    }

    /** The same client with another time limit for each call. */
    public Client within(Duration deadline) {
        return new Client(this, endAfter(limited(deadline)));
    }

    /** The same client with one time limit, which begins now, for several calls together. */
    Client forOneCall() {
        long end = end();
        return new Client(this, () -> end);
    }

    /** Throws if the time of a client {@link #forOneCall} is over. */
    void checkEnd() {
        left();
    }

    /** The nanoseconds that a client {@link #forOneCall} has left. Throws if there are none. */
    long left() {
        return Calls.left(end());
    }

    // Sending

    /** Sends a notification once: all attempts have the same idempotency key. */
    public Sent send(Notification notification) {
        return send(notification, UUID.randomUUID().toString());
    }

    /**
     * Sends a notification with an idempotency key that you choose, such as the number of an
     * order.
     *
     * <p>For 24 hours a repeated call with the same key sends nothing twice, even after a restart
     * of the program. It must pass an equal notification: the server refuses another notification
     * with this key as {@code idempotency-key-reused}.
     */
    public Sent send(Notification notification, String key) {
        return calls.call("POST", NOTIFICATIONS, "", notification.body(), visible("key", key), end(), Sent::new);
    }

    /** Sends notifications with a random idempotency key. */
    public List<Outcome> sendMany(Collection<Notification> notifications) {
        return sendMany(notifications, UUID.randomUUID().toString());
    }

    /**
     * Sends notifications in as few requests as possible. Returns the outcome of each
     * notification, in their order.
     *
     * <p>One refused notification does not affect the others, and throws nothing: check the
     * outcomes. The deadline is for all requests together. If the call throws, or the problem of an
     * outcome is transient, repeat it with the same notifications and the same key.
     */
    public List<Outcome> sendMany(Collection<Notification> notifications, String key) {
        visible("key", key);
        long end = end();
        List<Outcome> outcomes = new ArrayList<>();
        int number = 0;
        for (Batch batch : Batch.of(notifications, BATCH_ELEMENTS, BATCH_BYTES)) {
            try {
                outcomes.addAll(calls.call(
                        "POST", NOTIFICATIONS + "/batch", "", batch.body(), key + "-" + number++, end, batch::outcomes));
            } catch (Batch.Unfinished error) {
                outcomes.addAll(error.outcomes);
            } catch (SealpostException error) {
                throw error.withKey(key);
            }
        }
        return outcomes;
    }

    /**
     * Recalls a notification from all recipients, or cancels a scheduled notification. The token
     * needs the scopes {@code send} and {@code fetch}.
     *
     * <p>Returns false if this account has no such notification: the notification has expired, or
     * an earlier call or attempt has recalled it.
     */
    public boolean recall(long id) {
        return delete(NOTIFICATIONS + "/" + id);
    }

    // Outcomes

    /** The number of a notification's pushes in each state. */
    public DeliveryCounts counts(long id) {
        return get(NOTIFICATIONS + "/" + id + "/deliveries", "?limit=1", DeliveryCounts::new);
    }

    /**
     * A notification's pushes, which the stream requests page by page. The deadline is for each
     * page.
     */
    public Stream<Delivery> deliveries(long id) {
        return pages(NOTIFICATIONS + "/" + id + "/deliveries", "&counts=part", json -> new Page<>(json, "Deliveries", Delivery::new));
    }

    /**
     * A notification's recipients, with the times at which they have fetched, read and dismissed
     * it. The stream requests them page by page. The deadline is for each page.
     */
    public Stream<Recipient> recipients(long id) {
        return pages(NOTIFICATIONS + "/" + id + "/recipients", "", json -> new Page<>(json, "Recipients", Recipient::new));
    }

    private <T> Stream<T> pages(String path, String query, Function<@Nullable Json, Page<T>> read) {
        Function<String, Page<T>> page = cursor -> get(path, "?limit=" + pageSize + query + cursor, read);
        return Stream.iterate(page.apply(""), Objects::nonNull, last -> last.more ? page.apply("&cursor=" + escaped(last.cursor)) : null)
                .flatMap(last -> last.elements.stream());
    }

    private static final class Page<T> {
        final List<T> elements;
        final String cursor;
        final boolean more;

        Page(@Nullable Json json, String name, Function<Json, T> read) {
            Members page = new Members(json);
            elements = page.list(name, read);
            more = page.flag("More");
            cursor = more ? page.text("Cursor") : "";
        }
    }

    /**
     * A page of events after a cursor; without a cursor, the oldest events. The server must be
     * configured to store events.
     */
    public EventPage events(@Nullable String cursor) {
        return events(cursor, 500);
    }

    /**
     * A page of at most {@code limit} events after a cursor; without a cursor, the oldest events.
     */
    public EventPage events(@Nullable String cursor, int limit) {
        String query = "?limit=" + limit + (cursor == null ? "" : "&cursor=" + escaped(cursor));
        return get("/api/events", query, EventPage::new);
    }

    // Tags

    /** The tags assigned to a user; the token needs the scope {@code manage}. */
    public List<String> tags(String name) {
        return get(userPath(name) + "/tags", "", json -> new Members(json).list("Tags", Json::string));
    }

    /** Replaces the tags assigned to a user; the token needs the scope {@code manage}. */
    public void setTags(String name, Collection<String> tags) {
        Json body = Json.object().with("Tags", Notification.array("tags", tags.toArray(new String[0])));
        calls.call("PUT", userPath(name) + "/tags", "", body.bytes(), null, end(), json -> true);
    }

    // Users and devices, for an administrator's token with the scope manage

    /** Makes a user with the role {@code device} and without a password. Is not retried. */
    public void addUser(String name) {
        addUser(name, "device", null);
    }

    /**
     * Makes a user, without a password if it is null. Is not retried. If the user exists, throws a
     * {@link Problem} with the code {@code conflict}.
     */
    public void addUser(String name, String role, @Nullable String password) {
        Json order = Json.object().with("Name", Json.of(name)).with("Role", Json.of(role));
        Json secret = password == null ? order.with("WithoutPassword", Json.of(true)) : order.with("Password", Json.of(password));
        call("POST", "/api/users", secret);
    }

    /** Disables a user, whom the server then refuses at once, or enables the user again. */
    public void setDisabled(String name, boolean isDisabled) {
        byte[] body = Json.object().with("Disabled", Json.of(isDisabled)).bytes();
        calls.call("PATCH", userPath(name), "", body, null, end(), json -> true);
    }

    /**
     * Deletes a user with all devices and tokens. Returns false if there is no such user, also if
     * an attempt whose answer was lost has deleted the user.
     */
    public boolean deleteUser(String name) {
        return delete(userPath(name));
    }

    /**
     * The devices of a user, which the stream requests page by page. The deadline is for each
     * page.
     */
    public Stream<Device> devices(String name) {
        Notification.user(name); // Checks the name.
        return pages("/api/devices", "&user=" + escaped(name), json -> new Page<>(json, "Devices", Device::new));
    }

    /** The server's version and faults, and its queues. */
    public Status status() {
        return get("/api/status", "", Status::new);
    }

    private static String userPath(String name) {
        Notification.user(name); // Checks the name.
        if (name.equals(".") || name.equals("..")) {
            throw new IllegalArgumentException("'" + name + "' cannot be a part of a path: proxies and libraries would remove it");
        }
        return "/api/users/" + escaped(name);
    }

    // End-to-end encryption

    /**
     * The users of a tag expression with the keys of their devices for an app; pass {@code
     * default} if the server sends for one app only. {@link Encryption} checks and uses the keys.
     */
    public List<UserKeys> deviceKeys(String expression, String app) {
        String name = Notification.nameIn(expression);
        return get("/api/keys", "?to=" + escaped(expression) + "&app=" + escaped(Objects.requireNonNull(app, "app")), json -> {
            List<UserKeys> users = new Members(json).list("Users", UserKeys::new);
            // The server must return nobody's keys but the named user's.
            boolean isOther = name != null && users.stream().anyMatch(user -> !Pins.lower(user.name).equals(Pins.lower(name)));
            if (isOther) throw new Malformed("the list has the keys of another user");
            return users;
        });
    }

    // Other calls

    /**
     * Sends any other request of the API, and returns the answer's JSON with the API's names; null
     * if the answer has no body.
     *
     * <p>The path may have a query; percent-encode the names in it. A {@code POST} is not retried.
     */
    public @Nullable Json call(String method, String path, @Nullable Json body) {
        // Another path would become a part of the host's name, and that host would get the token.
        if (!Objects.requireNonNull(path, "path").startsWith("/")) throw new IllegalArgumentException("a path begins with a slash, such as /api/users");
        // A URI ends at a `#`, so that /api/users/a#b would be the user a.
        if (path.indexOf('#') >= 0 || !path.chars().allMatch(character -> character > ' ' && character < 127)) {
            throw new IllegalArgumentException("path: percent-encode the names in " + path);
        }
        if (!METHODS.contains(method)) throw new IllegalArgumentException("method: " + method + " is not one of " + METHODS);
        if (body != null && (method.equals("GET") || method.equals("HEAD"))) {
            throw new IllegalArgumentException("body: a request with " + method + " has no body; add a query to the path");
        }
        int end = path.indexOf('?') < 0 ? path.length() : path.indexOf('?');
        Request request = new Request(method, path.substring(0, end), path.substring(end));
        byte[] content = body == null ? null : body.bytes();
        if (method.equals("POST")) return calls.attempt(request, content, null, end(), json -> json);
        return calls.call(method, request.path, request.query, content, null, end(), json -> json);
    }

    // Requests

    private <T> T get(String path, String query, Function<@Nullable Json, T> result) {
        return calls.call("GET", path, query, null, null, end(), result);
    }

    /** Deletes something. Returns false if it does not exist, for example after a lost answer. */
    private boolean delete(String path) {
        try {
            calls.call("DELETE", path, "", null, null, end(), json -> true);
            return true;
        } catch (Problem error) {
            if (!error.code.equals("not-found")) throw error;
            return false;
        }
    }

    private long end() {
        return end.getAsLong();
    }

    private static LongSupplier endAfter(Duration deadline) {
        return () -> System.nanoTime() + deadline.toNanos();
    }

    private static Duration limited(Duration limit) {
        if (limit.isZero() || limit.isNegative() || limit.compareTo(Duration.ofDays(36_500)) > 0) {
            throw new IllegalArgumentException(limit + " is no time limit: give a duration above 0, of up to 36,500 days");
        }
        return limit;
    }

    private static String escaped(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /**
     * Throws for a text that a header field cannot contain. The error does not print the text,
     * which may be a token.
     */
    static String visible(String name, @Nullable String text) {
        if (text == null || text.isEmpty() || !text.chars().allMatch(letter -> letter > ' ' && letter <= '~')) {
            throw new IllegalArgumentException(name + " must have visible ASCII characters without spaces, and at least one");
        }
        return text;
    }

    /** The options of a client. */
    public static final class Builder {
        final String server;
        @Nullable Supplier<String> authorization;
        Duration timeout = Duration.ofSeconds(10);
        Duration deadline = Duration.ofSeconds(60);
        @Nullable Verifier verifier;
        @Nullable String account;
        @Nullable HttpClient http;
        boolean isInsecureAllowed;
        /**
         * The longest delay before the first retry. Tests shorten this delay and the page size.
         */
        Duration firstDelay = Duration.ofMillis(250);

        int pageSize = 500;

        private Builder(String server) {
            this.server = Objects.requireNonNull(server, "server");
        }

        /** The token of a publisher. */
        public Builder token(String token) {
            visible("token", token);
            return token(() -> token);
        }

        /** A function that returns the current token. */
        public Builder token(Supplier<String> token) {
            Objects.requireNonNull(token, "token");
            authorization = () -> "Bearer " + visible("token", token.get());
            return this;
        }

        /** A name and a password in place of a token. */
        public Builder user(String name, String password) {
            Objects.requireNonNull(name, "name");
            Objects.requireNonNull(password, "password");
            byte[] credentials = (name + ":" + password).getBytes(StandardCharsets.UTF_8);
            String field = "Basic " + Base64.getEncoder().encodeToString(credentials);
            authorization = () -> field;
            return this;
        }

        /** The time limit of each attempt, by default 10 seconds. */
        public Builder timeout(Duration timeout) {
            this.timeout = limited(timeout);
            return this;
        }

        /** The time limit of each call with all its retries, by default 60 seconds. */
        public Builder deadline(Duration deadline) {
            this.deadline = limited(deadline);
            return this;
        }

        /**
         * Pins the server's keys, the {@code x} of {@code /.well-known/sealpost-keys}. Each answer
         * must then be signed by one of these keys.
         */
        public Builder signingKeys(String... keys) {
            verifier = new Verifier(keys);
            return this;
        }

        /**
         * Pins the account's identifier. Otherwise the client takes the identifier from the first
         * answer, and expects it in all later answers.
         */
        public Builder account(String account) {
            this.account = visible("account", account);
            return this;
        }

        /**
         * An HttpClient of your own, for example with a proxy, an executor or a TLS context. It
         * must not follow redirects.
         */
        public Builder http(HttpClient http) {
            this.http = Objects.requireNonNull(http, "http");
            return this;
        }

        /**
         * Allows {@code http} for other hosts than this machine. On the way there, others can read
         * the token.
         */
        public Builder isInsecureAllowed(boolean isInsecureAllowed) {
            this.isInsecureAllowed = isInsecureAllowed;
            return this;
        }

        public Client build() {
            return new Client(this);
        }
    }
}
