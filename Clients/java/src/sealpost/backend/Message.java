package sealpost.backend;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A message of the server: a {@link Push}, a {@link Confirmation}, {@link Events} or {@link Other}. */
public abstract class Message {
    /** The id by which a receiver recognizes a repeated message. */
    public final String id;

    private Message(String id) {
        this.id = id;
    }

    /** A push: wake the device of {@link #handle}, which then fetches the notification. */
    public static final class Push extends Message {
        /** The notification's id. */
        public final String secureId;

        public final String handle;
        public final @Nullable Json alert;
        public final @Nullable String accountHint;

        private Push(String id, Json json) {
            super(id);
            Members push = new Members(json);
            secureId = push.text("secureId");
            handle = push.text("handle");
            alert = json.get("alert");
            accountHint = push.textOr("accountHint", null);
        }
    }

    /**
     * A confirmation code: pass it to the device of {@link #handle}, which sends it to the server
     * to prove that the handle is its own.
     */
    public static final class Confirmation extends Message {
        public final String code;
        public final String handle;

        private Confirmation(String id, Members message) {
            super(id);
            code = message.text("confirmation");
            handle = message.text("handle");
        }
    }

    /**
     * Up to 500 events, in the order of their numbers. Answer 2xx after you have stored the
     * events.
     */
    public static final class Events extends Message {
        public final List<Event> events;

        private Events(String id, Members message) {
            super(id);
            events = new Members(message.value("data")).list("Events", Event::new);
        }
    }

    /** A message of a kind that only later servers send. Answer 2xx. */
    public static final class Other extends Message {
        public final Json json;

        private Other(String id, Json json) {
            super(id);
            this.json = json;
        }
    }

    static Message read(String id, Json json) {
        if (json.kind() != Json.Kind.OBJECT) return new Other(id, json);
        Members message = new Members(json);
        Json data = json.get("data");
        Json events = data == null ? null : data.get("Events");
        boolean isArray = events != null && events.kind() == Json.Kind.ARRAY;
        if (isArray && "sealpost.events".equals(message.textOr("type", null))) return new Events(id, message);
        if (message.textOr("confirmation", null) != null) return new Confirmation(id, message);
        return message.textOr("secureId", "").matches("[0-9]{1,16}") ? new Push(id, json) : new Other(id, json);
    }
}
