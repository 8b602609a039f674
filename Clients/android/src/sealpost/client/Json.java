package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * A JSON value, exactly as received: members keep their order and numbers their digits.
 *
 * <p>{@code org.json} is not used, because it converts numbers to doubles and accepts invalid
 * JSON.
 */
public final class Json {
    /** The type of a value. */
    public enum Kind {
        NULL,
        BOOLEAN,
        NUMBER,
        STRING,
        ARRAY,
        OBJECT
    }

    private final Kind kind;
    /**
     * The digits of a number, the characters of a string, {@code true} or {@code false}; otherwise
     * empty.
     */
    private final String text;

    private final List<Json> elements;
    private final List<String> names;

    private Json(Kind kind, String text, List<String> names, List<Json> elements) {
        this.kind = kind;
        this.text = text;
        this.names = names;
        this.elements = elements;
    }

    static final Json NULL = leaf(Kind.NULL, "");

    /**
     * A string.
     *
     * @throws IllegalArgumentException if the text has half of a surrogate pair, which UTF-8 cannot
     *     encode
     */
    public static Json of(String text) {
        return leaf(Kind.STRING, whole(Objects.requireNonNull(text, "text")));
    }

    /** Returns a text that UTF-8 can encode; Java would replace half of a surrogate pair. */
    static String whole(String text) {
        for (int index = 0; index < text.length(); index++) {
            int scalar = text.codePointAt(index);
            if (scalar >= 0xD800 && scalar <= 0xDFFF) {
                throw new IllegalArgumentException("the text has half of a surrogate pair");
            }
            if (scalar > 0xFFFF) index++;
        }
        return text;
    }

    /** A number without a fraction. */
    public static Json of(long number) {
        return number(Long.toString(number));
    }

    /** {@code true} or {@code false}. */
    public static Json of(boolean value) {
        return leaf(Kind.BOOLEAN, Boolean.toString(value));
    }

    /** An array. */
    public static Json array(List<Json> elements) {
        return new Json(Kind.ARRAY, "", Collections.<String>emptyList(), Collections.unmodifiableList(elements));
    }

    /** An object without members; {@link #with} adds them. */
    public static Json object() {
        return new Json(Kind.OBJECT, "", Collections.<String>emptyList(), Collections.<Json>emptyList());
    }

    /**
     * A copy of the object with one more member, at its end.
     *
     * @throws IllegalArgumentException as {@link #of(String)} does, for the name
     */
    public Json with(String name, Json value) {
        List<String> names = new ArrayList<>(this.names);
        List<Json> elements = new ArrayList<>(this.elements);
        names.add(whole(name));
        elements.add(value);
        return object(names, elements);
    }

    static Json number(String digits) {
        return leaf(Kind.NUMBER, digits);
    }

    static Json object(List<String> names, List<Json> values) {
        return new Json(Kind.OBJECT, "", Collections.unmodifiableList(names), Collections.unmodifiableList(values));
    }

    private static Json leaf(Kind kind, String text) {
        return new Json(kind, text, Collections.<String>emptyList(), Collections.<Json>emptyList());
    }

    /** Reads one JSON text in UTF-8, exactly as RFC 8259 defines it, nested at most 64 deep. */
    public static Json read(byte[] bytes) throws JsonException {
        return new JsonReader(bytes).text();
    }

    public Kind kind() {
        return kind;
    }

    /** The characters of a string; null for anything else. */
    public @Nullable String string() {
        return kind == Kind.STRING ? text : null;
    }

    /** The value of a Boolean; null for anything else. */
    public @Nullable Boolean bool() {
        return kind == Kind.BOOLEAN ? Boolean.valueOf(text) : null;
    }

    /**
     * The value of a whole number, even if written with zeros after the point; null for anything
     * else, and beyond 64 bits.
     */
    public @Nullable Long integer() {
        if (kind != Kind.NUMBER) return null;
        try {
            return Long.valueOf(text.replaceFirst("\\.0+$", ""));
        } catch (NumberFormatException fraction) {
            return null;
        }
    }

    /** The digits of a number, as received; null for anything else. */
    public @Nullable String digits() {
        return kind == Kind.NUMBER ? text : null;
    }

    /** The elements of an array, or the values of an object's members; empty for anything else. */
    public List<Json> elements() {
        return elements;
    }

    /** The names of an object's members, in the order of {@link #elements}. */
    public List<String> names() {
        return names;
    }

    /** The value of the last member with that name, ignoring case; null if missing. */
    public @Nullable Json get(String name) {
        int index = indexOf(name);
        return index < 0 ? null : elements.get(index);
    }

    private int indexOf(String name) {
        int index = names.size() - 1;
        while (index >= 0 && !isSpelledLike(names.get(index), name)) index--;
        return index;
    }

    /**
     * Whether two names are equal, ignoring case. {@code equalsIgnoreCase} would treat more names
     * as equal than the clients in other languages do.
     */
    private static boolean isSpelledLike(String name, String other) {
        return name.equals(other) || name.toLowerCase(Locale.ROOT).equals(other.toLowerCase(Locale.ROOT));
    }

    /** A copy of the object without a member. */
    Json without(String name) {
        List<String> left = new ArrayList<>();
        List<Json> values = new ArrayList<>();
        for (int index = 0; index < names.size(); index++) {
            if (isSpelledLike(names.get(index), name)) continue;
            left.add(names.get(index));
            values.add(elements.get(index));
        }
        return object(left, values);
    }

    /** A copy of the object with a new value for an existing member. */
    Json replacing(String name, Json value) {
        List<Json> values = new ArrayList<>(elements);
        int index = indexOf(name);
        if (index >= 0) values.set(index, value);
        return object(names, values);
    }

    boolean isTrue(String name) {
        Json member = get(name);
        return member != null && Boolean.TRUE.equals(member.bool());
    }

    /** The JSON text. */
    @Override
    public String toString() {
        StringBuilder out = new StringBuilder();
        write(out);
        return out.toString();
    }

    byte[] bytes() {
        return toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Json && toString().equals(other.toString());
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    private void write(StringBuilder out) {
        switch (kind) {
            case NULL:
                out.append("null");
                break;
            case BOOLEAN:
            case NUMBER:
                out.append(text);
                break;
            case STRING:
                quote(text, out);
                break;
            default:
                boolean isObject = kind == Kind.OBJECT;
                out.append(isObject ? '{' : '[');
                for (int index = 0; index < elements.size(); index++) {
                    if (index > 0) out.append(',');
                    if (isObject) {
                        quote(names.get(index), out);
                        out.append(':');
                    }
                    elements.get(index).write(out);
                }
                out.append(isObject ? '}' : ']');
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        int start = 0;
        for (int index = 0; index < text.length(); index++) {
            char next = text.charAt(index);
            if (next >= 0x20 && next != '"' && next != '\\') continue;
            out.append(text, start, index);
            start = index + 1;
            if (next >= 0x20) out.append('\\').append(next);
            else out.append("\\u00").append(Character.forDigit(next >> 4, 16)).append(Character.forDigit(next & 15, 16));
        }
        out.append(text, start, text.length()).append('"');
    }
}
