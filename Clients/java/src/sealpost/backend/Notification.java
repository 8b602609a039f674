package sealpost.backend;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A notification to send; docs/api.md has each member's meaning and default.
 *
 * <p>A notification never changes: each method returns a copy with one more member.
 */
public final class Notification {
    private static final String NAME = "[-A-Za-z0-9_@#+.]{1,100}";
    private static final Pattern ONE_USER = Pattern.compile("[ (]*(?i:username:)(" + NAME + ")[ )]*");

    private final Json json;

    private Notification(Json json) {
        this.json = json;
    }

    /** A notification with a text. Without {@link #to} the user of the token is the recipient. */
    public static Notification of(String payload) {
        return of(text("payload", payload));
    }

    /** A notification with any JSON; {@code Json.read} accepts the bytes of another library. */
    public static Notification of(Json payload) {
        return new Notification(Json.object().with("Payload", Objects.requireNonNull(payload, "payload")));
    }

    /**
     * The tag expression of one user. Throws for a name with characters that could change the
     * expression.
     */
    public static String user(String name) {
        if (name == null || !name.matches(NAME)) throw new IllegalArgumentException("'" + name + "' is not the name of a user");
        return "username:" + name;
    }

    /**
     * The name in the tag expression of one user; null for other expressions. The server also
     * accepts blanks and parentheses around the tag, and its prefix in upper case.
     */
    static @Nullable String nameIn(String expression) {
        Matcher found = ONE_USER.matcher(Objects.requireNonNull(expression, "expression"));
        return found.matches() ? found.group(1) : null;
    }

    /** The recipients, as tag expressions. */
    public Notification to(String... expressions) {
        return with("To", array("to", expressions));
    }

    public Notification app(String app) {
        return with("App", text("app", app));
    }

    public Notification platforms(String... platforms) {
        return with("Platforms", array("platforms", platforms));
    }

    public Notification sendAt(Instant time) {
        return with("SendAt", Json.of(Objects.requireNonNull(time, "sendAt").toString()));
    }

    /** The time from the sending until the payload expires, in whole seconds. */
    public Notification expiresIn(Duration lifetime) {
        return with("ExpiresIn", Json.of(Objects.requireNonNull(lifetime, "expiresIn").getSeconds()));
    }

    public Notification priority(String priority) {
        return with("Priority", text("priority", priority));
    }

    public Notification collapseKey(String key) {
        return with("CollapseKey", text("collapseKey", key));
    }

    public Notification store(String store) {
        return with("Store", text("store", store));
    }

    public Notification readOnce(boolean isReadOnce) {
        return with("ReadOnce", Json.of(isReadOnce));
    }

    public Notification alert(Json alert) {
        return with("Alert", Objects.requireNonNull(alert, "alert"));
    }

    /** The payload; a string if {@link Encryption#encrypted} has encrypted it. */
    public Json payload() {
        return json.get("Payload");
    }

    /** The same notification with another payload, such as a stored one of {@link Encryption#encrypted}. */
    public Notification payload(String payload) {
        return with("Payload", text("payload", payload));
    }

    /** The app of the notification; null if it names none. */
    @Nullable String app() {
        Json app = json.get("App");
        return app == null ? null : app.string();
    }

    List<String> to() {
        List<String> expressions = new ArrayList<>();
        if (json.get("To") != null) for (Json expression : json.get("To").elements()) expressions.add(expression.string());
        return expressions;
    }

    /**
     * The JSON of a request that sends this notification. Equal notifications have equal bytes, as
     * an idempotency key requires.
     */
    byte[] body() {
        return json.bytes();
    }

    private Notification with(String name, Json value) {
        return new Notification(json.without(name).with(name, value));
    }

    /** The JSON of a member's text. Throws for null, with the member's name. */
    private static Json text(String name, String value) {
        return Json.of(Objects.requireNonNull(value, name));
    }

    static Json array(String name, String... texts) {
        List<Json> elements = new ArrayList<>();
        for (String text : Objects.requireNonNull(texts, name)) elements.add(text(name, text));
        return Json.array(elements);
    }
}
