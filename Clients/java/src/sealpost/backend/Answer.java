package sealpost.backend;

import java.net.http.HttpHeaders;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
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

    /** The time to wait of {@code Retry-After}, which has seconds or a date; null for a date in the past. */
    @Nullable Duration retryAfter() {
        String field = field("retry-after");
        long seconds = number(field, 9);
        if (seconds >= 0) return Duration.ofSeconds(seconds);
        if (!field.endsWith(" GMT")) return null;
        try {
            Duration left = Duration.between(Instant.now(), DateTimeFormatter.RFC_1123_DATE_TIME.parse(field, Instant::from));
            return left.isNegative() ? null : left;
        } catch (DateTimeException error) {
            return null;
        }
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
