package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** An answer as the network delivered it, not yet checked. */
final class RawAnswer {
    /** How the transfer ended. */
    enum End {
        COMPLETE,
        /** The connection ended before the body did. */
        CUT,
        /** The body is larger than the limit, and the client did not read the rest. */
        OVERSIZED
    }

    final int status;
    private final Map<String, List<String>> fields = new HashMap<>();
    byte[] body = {};
    End end = End.COMPLETE;

    RawAnswer(int status) {
        this.status = status;
    }

    void add(String name, String value) {
        String key = name.toLowerCase(Locale.ROOT);
        List<String> lines = fields.get(key);
        if (lines == null) fields.put(key, lines = new ArrayList<>());
        lines.add(StructuredField.trimmed(value));
    }

    /** The lines of a field; {@code name} is in lower case. */
    List<String> lines(String name) {
        List<String> lines = fields.get(name);
        return lines == null ? new ArrayList<String>() : lines;
    }

    /** The value of a field, whose lines are joined; null if the field is missing. */
    @Nullable String field(String name) {
        List<String> lines = lines(name);
        return lines.isEmpty() ? null : StructuredField.value(lines);
    }

    /**
     * The number of bytes of the body according to {@code Content-Length}; negative if unknown.
     */
    long announcedLength(Request request) {
        String coding = field("content-encoding");
        boolean isPlain = coding == null || coding.isEmpty() || coding.equalsIgnoreCase("identity");
        String length = field("content-length");
        if (status == 204 || status == 304 || request.method.equals("HEAD") || !isPlain || length == null) return -1;
        try {
            return Long.parseLong(length);
        } catch (NumberFormatException malformed) {
            return -1;
        }
    }
}
