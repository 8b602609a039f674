package sealpost.backend;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The number of a notification's pushes in each state. */
public final class DeliveryCounts extends Value {
    /** When the notification will be sent, if it is still scheduled. */
    public final @Nullable Instant sendAt;
    /** The number of pushes, by state. */
    public final Map<String, Long> counts;

    DeliveryCounts(Json json) {
        super(json);
        Members answer = new Members(json);
        sendAt = answer.optionalTime("SendAt");
        Json states = answer.value("Counts");
        Members members = new Members(states);
        Map<String, Long> counts = new LinkedHashMap<>();
        for (String state : states.names()) counts.put(state, members.number(state));
        this.counts = Collections.unmodifiableMap(counts);
    }
}
