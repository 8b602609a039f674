package sealpost.backend;

import java.util.List;

/** A page of events. */
public final class EventPage extends Value {
    public final List<Event> events;
    /**
     * The cursor for the events after this page: store it together with the effects of the events.
     */
    public final String cursor;
    /** Whether another page follows. */
    public final boolean more;
    /** Whether events after the request's cursor have expired, so that some may be missing. */
    public final boolean truncated;

    EventPage(Json json) {
        super(json);
        Members page = new Members(json);
        events = page.list("Events", Event::new);
        cursor = page.text("Cursor");
        more = page.flag("More");
        truncated = page.flag("Truncated");
    }
}
