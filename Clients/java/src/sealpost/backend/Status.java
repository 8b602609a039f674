package sealpost.backend;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The state of the server. */
public final class Status extends Value {
    public final String version;
    /** The faults that keep the server from storing or returning notifications. */
    public final List<String> troubles;

    public final List<Lane> lanes;

    Status(Json json) {
        super(json);
        Members status = new Members(json);
        version = status.text("Version");
        troubles = status.list("Troubles", Json::string);
        lanes = status.list("Lanes", Lane::new);
    }

    /** The queue of one sender. */
    public static final class Lane extends Value {
        public final String name;
        public final long pending;
        public final long overdueSeconds;
        /** The provider's answer while the lane is paused; otherwise null. */
        public final @Nullable String pauseReason;

        Lane(Json json) {
            super(json);
            Members lane = new Members(json);
            name = lane.text("Name");
            pending = lane.number("Pending");
            overdueSeconds = lane.number("OverdueSeconds");
            Json pause = lane.optional("Pause");
            pauseReason = pause == null ? null : new Members(pause).text("Reason");
        }
    }
}
