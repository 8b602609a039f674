package sealpost.backend;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads the members of a JSON object. Throws {@link Malformed} for a missing member, and for a
 * value of another type.
 */
final class Members {
    private final Json object;

    Members(@Nullable Json json) {
        if (json == null || json.kind() != Json.Kind.OBJECT) throw new Malformed("the value is not an object");
        object = json;
    }

    /** The value of a member; null for JSON's null. */
    @Nullable Json optional(String name) {
        Json value = object.get(name);
        if (value == null) throw new Malformed("the object lacks " + name);
        return value.kind() == Json.Kind.NULL ? null : value;
    }

    Json value(String name) {
        return present(name, optional(name));
    }

    String text(String name) {
        return present(name, value(name).string());
    }

    @Nullable String optionalText(String name) {
        return optional(name) == null ? null : text(name);
    }

    /** The text of a member; {@code absent} if the member is missing or of another type. */
    @Nullable String textOr(String name, @Nullable String absent) {
        Json value = object.get(name);
        String text = value == null ? null : value.string();
        return text == null ? absent : text;
    }

    long number(String name) {
        return present(name, value(name).integer());
    }

    @Nullable Long optionalNumber(String name) {
        return optional(name) == null ? null : (Long) number(name);
    }

    int status() {
        long status = number("status");
        return status == (int) status ? (int) status : 0;
    }

    boolean flag(String name) {
        return present(name, value(name).bool());
    }

    @Nullable Instant optionalTime(String name) {
        return optional(name) == null ? null : time(name);
    }

    Instant time(String name) {
        try {
            return OffsetDateTime.parse(text(name)).toInstant();
        } catch (DateTimeParseException error) {
            throw new Malformed(name + " is not a time");
        }
    }

    /** The elements of a member that is an array. */
    <T> List<T> list(String name, Function<Json, T> read) {
        if (value(name).kind() != Json.Kind.ARRAY) throw new Malformed(name + " is not an array");
        List<T> list = new ArrayList<>();
        for (Json element : value(name).elements()) list.add(read.apply(element));
        return Collections.unmodifiableList(list);
    }

    private static <T> T present(String name, @Nullable T value) {
        if (value == null) throw new Malformed(name + " has another type");
        return value;
    }
}
