package sealpost.backend;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A message of the server: a {@link Push}, a {@link Confirmation} or {@link Events}. */
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

    static Message read(String id, Json json) {
        Members message = new Members(json);
        if ("sealpost.events".equals(message.textOr("type", null))) return new Events(id, message);
        return json.get("confirmation") == null ? new Push(id, json) : new Confirmation(id, message);
    }
}
