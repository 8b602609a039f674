package sealpost.backend;

import java.net.http.HttpHeaders;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** An answer as received, not yet checked. */
final class Answer {
    final int status;
    final byte[] body;
    private final HttpHeaders fields;

    Answer(int status, HttpHeaders fields, byte[] body) {
        this.status = status;
        this.fields = fields;
        this.body = body;
    }

    /** The value of a field: its lines joined by commas; empty if the field is missing. */
    String field(String name) {
        StringBuilder value = new StringBuilder();
        for (String line : fields.allValues(name)) value.append(value.length() == 0 ? "" : ", ").append(line.trim());
        return value.toString();
    }

    @Nullable Duration retryAfter() {
        long seconds = number(field("retry-after"), 9);
        return seconds < 0 ? null : Duration.ofSeconds(seconds);
    }

    /** The number in a text of one to {@code length} digits; -1 for another text. */
    static long number(String text, int length) {
        if (text.isEmpty() || text.length() > length) return -1;
        for (int index = 0; index < text.length(); index++) {
            if (text.charAt(index) < '0' || text.charAt(index) > '9') return -1;
        }
        return Long.parseLong(text);
    }
}
