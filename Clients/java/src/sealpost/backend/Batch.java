package sealpost.backend;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The notifications that one request sends. */
final class Batch {
    private static final byte[] START = "{\"Notifications\":[".getBytes(StandardCharsets.US_ASCII);

    private final ByteArrayOutputStream content = new ByteArrayOutputStream();
    private int count = 0;

    /**
     * Splits notifications into batches. The same notifications give the same batches, since each
     * batch has its own idempotency key.
     */
    static List<Batch> of(Collection<Notification> notifications, int elements, int bytes) {
        List<Batch> batches = new ArrayList<>();
        Batch last = null;
        for (Notification notification : notifications) {
            byte[] body = notification.body();
            if (last == null || last.count == elements || body.length >= bytes - last.content.size()) {
                last = new Batch();
                batches.add(last);
            }
            byte[] before = last.count == 0 ? START : new byte[] {','};
            last.content.write(before, 0, before.length);
            last.content.write(body, 0, body.length);
            last.count++;
        }
        return batches;
    }

    byte[] body() {
        ByteArrayOutputStream body = new ByteArrayOutputStream(content.size() + 2);
        body.write(content.toByteArray(), 0, content.size());
        body.write(']');
        body.write('}');
        return body.toByteArray();
    }

    List<Outcome> outcomes(@Nullable Json json) {
        List<Outcome> outcomes = new Members(json).list("Outcomes", Outcome::new);
        if (outcomes.size() != count) throw new Malformed("there is not one outcome for each notification");
        for (Outcome outcome : outcomes) {
            if (outcome.problem != null && outcome.problem.isTransient) throw new Unfinished(outcomes);
        }
        return outcomes;
    }

    /**
     * Thrown if some elements may succeed later. A repetition of the same request sends only these
     * elements, because all elements have idempotency keys.
     */
    static final class Unfinished extends SealpostException {
        private static final long serialVersionUID = 1;
        final transient List<Outcome> outcomes;

        Unfinished(List<Outcome> outcomes) {
            super("some notifications were not sent", true, null, null);
            this.outcomes = outcomes;
        }
    }
}
