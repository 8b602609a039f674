package sealpost.client;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import sealpost.client.FieldDictionary.Bare;
import sealpost.client.FieldDictionary.NotificationItem;
import sealpost.client.FieldDictionary.Member;
import sealpost.client.FieldDictionary.Parameters;

/** Reads structured fields (RFC 9651), strictly: throws for anything but a dictionary. */
final class StructuredField {
    private static final int MAXIMUM_LENGTH = 16_384;
    private static final String LOWER = "abcdefghijklmnopqrstuvwxyz";
    private static final String DIGITS = "0123456789";
    private static final String LETTERS = LOWER + "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    private final String text;
    private int position = 0;

    private StructuredField(String text) throws Malformed {
        this.text = text;
        if (text.length() > MAXIMUM_LENGTH) throw new Malformed("it is too long");
    }

    /** The fault of a field. */
    private static final class Malformed extends Exception {
        private static final long serialVersionUID = 1;

        Malformed(String what) {
            super(what);
        }
    }

    /** The dictionary of a field's lines; throws for anything else. */
    static FieldDictionary dictionary(List<String> lines, String name) throws SignatureFailure {
        try {
            return new StructuredField(value(lines)).dictionary();
        } catch (Malformed error) {
            String description = name + " cannot be read: " + error.getMessage();
            throw new SignatureFailure(SignatureFailure.Reason.OTHER, description);
        }
    }

    /** The lines of a field as one value (RFC 9421 section 2.1). */
    static String value(List<String> lines) {
        StringBuilder value = new StringBuilder();
        for (int index = 0; index < lines.size(); index++) {
            if (index > 0) value.append(", ");
            value.append(trimmed(lines.get(index)));
        }
        return value.toString();
    }

    /** The line without surrounding spaces and tabs. */
    static String trimmed(String line) {
        int start = 0;
        int end = line.length();
        while (start < end && isBlank(line.charAt(start))) start++;
        while (end > start && isBlank(line.charAt(end - 1))) end--;
        return line.substring(start, end);
    }

    private static boolean isBlank(char next) {
        return next == ' ' || next == '\t';
    }

    // The grammar

    private FieldDictionary dictionary() throws Malformed {
        FieldDictionary dictionary = new FieldDictionary();
        skip(" ");
        while (position < text.length()) {
            String key = key();
            dictionary.add(key, take('=') ? member() : itemMember(Bare.TRUE));
            skip(" \t");
            if (position == text.length()) break;
            if (!take(',')) throw error("a comma is missing");
            skip(" \t");
            if (position == text.length()) throw error("it ends with a comma");
        }
        return dictionary;
    }

    private Member member() throws Malformed {
        if (!take('(')) return itemMember(bare());
        List<NotificationItem> items = new ArrayList<>();
        while (true) {
            skip(" ");
            if (take(')')) return new Member(null, items, parameters());
            items.add(new NotificationItem(bare(), parameters()));
            if (peek() != ' ' && peek() != ')') throw error("a space or a closing parenthesis is missing");
        }
    }

    private Member itemMember(Bare value) throws Malformed {
        Parameters parameters = parameters();
        return new Member(new NotificationItem(value, parameters), null, parameters);
    }

    private Parameters parameters() throws Malformed {
        Parameters parameters = new Parameters();
        while (take(';')) {
            skip(" ");
            parameters.keys.add(key());
            parameters.values.add(take('=') ? bare() : Bare.TRUE);
        }
        return parameters;
    }

    private String key() throws Malformed {
        if (peek() != '*' && LOWER.indexOf(peek()) < 0) throw error("a key is missing");
        return run(LOWER + DIGITS + "_-.*");
    }

    // Values

    private Bare bare() throws Malformed {
        int next = peek();
        if (next == '"') return Bare.string(string());
        if (next == ':') return bytes();
        if (next == '?') return bool();
        if (next == '@') return date();
        if (next == '%') return display();
        if (next == '-' || DIGITS.indexOf(next) >= 0) return number();
        if (next == '*' || LETTERS.indexOf(next) >= 0) {
            return Bare.of(Bare.Kind.TOKEN, run(LETTERS + DIGITS + "!#$%&'*+-.^_`|~:/"));
        }
        throw error("a value is missing");
    }

    private Bare number() throws Malformed {
        boolean isNegative = take('-');
        String whole = run(DIGITS);
        if (!take('.')) {
            if (whole.isEmpty() || whole.length() > 15) throw error("invalid integer");
            return Bare.integer(isNegative ? -Long.parseLong(whole) : Long.parseLong(whole));
        }
        String fraction = run(DIGITS);
        if (whole.isEmpty() || whole.length() > 12 || fraction.isEmpty() || fraction.length() > 3) {
            throw error("invalid decimal");
        }
        while (fraction.length() > 1 && fraction.endsWith("0")) fraction = fraction.substring(0, fraction.length() - 1);
        long value = Long.parseLong(whole);
        boolean isZero = value == 0 && fraction.equals("0");
        return Bare.of(Bare.Kind.DECIMAL, (isNegative && !isZero ? "-" : "") + value + '.' + fraction);
    }

    private Bare date() throws Malformed {
        take('@');
        Bare seconds = number();
        if (seconds.kind != Bare.Kind.INTEGER) throw error("invalid date");
        return Bare.of(Bare.Kind.DATE, '@' + seconds.spelling);
    }

    private Bare bool() throws Malformed {
        take('?');
        if (take('1')) return Bare.TRUE;
        if (!take('0')) throw error("invalid boolean");
        return Bare.of(Bare.Kind.BOOLEAN, "?0");
    }

    private String string() throws Malformed {
        take('"');
        StringBuilder content = new StringBuilder();
        while (position < text.length()) {
            char next = text.charAt(position++);
            if (next == '"') return content.toString();
            if (next == '\\') {
                if (peek() != '"' && peek() != '\\') throw error("a string has an invalid escape");
                next = text.charAt(position++);
            } else if (next < 0x20 || next > 0x7E) {
                throw error("a string is not of printable ASCII");
            }
            content.append(next);
        }
        throw error("a string is not terminated");
    }

    private Bare bytes() throws Malformed {
        take(':');
        byte[] bytes = Base64.fromStandard(run(LETTERS + DIGITS + "+/="));
        if (!take(':')) throw error("a byte sequence is not terminated");
        if (bytes == null) throw error("invalid base64");
        return Bare.bytes(bytes);
    }

    private Bare display() throws Malformed {
        int start = position;
        take('%');
        if (!take('"')) throw error("invalid display string");
        ByteBuffer content = ByteBuffer.allocate(text.length());
        while (position < text.length()) {
            char next = text.charAt(position++);
            if (next == '"') {
                try {
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content.array(), 0, content.position()));
                } catch (CharacterCodingException invalid) {
                    throw error("invalid UTF-8");
                }
                return Bare.of(Bare.Kind.DISPLAY, text.substring(start, position));
            }
            if (next < 0x20 || next > 0x7E) throw error("a display string is not of printable ASCII");
            if (next == '%') {
                int high = "0123456789abcdef".indexOf(peek());
                int low = position + 1 < text.length() ? "0123456789abcdef".indexOf(text.charAt(position + 1)) : -1;
                if (high < 0 || low < 0) throw error("a display string has an invalid percent-encoding");
                position += 2;
                next = (char) (high << 4 | low);
            }
            content.put((byte) next);
        }
        throw error("a display string is not terminated");
    }

    // Characters

    private int peek() {
        return position < text.length() ? text.charAt(position) : -1;
    }

    private boolean take(char next) {
        if (peek() != next) return false;
        position++;
        return true;
    }

    private String run(String alphabet) {
        int start = position;
        while (position < text.length() && alphabet.indexOf(text.charAt(position)) >= 0) position++;
        return text.substring(start, position);
    }

    private void skip(String blanks) {
        while (position < text.length() && blanks.indexOf(text.charAt(position)) >= 0) position++;
    }

    private Malformed error(String what) {
        return new Malformed(what + " (at byte " + position + ")");
    }
}
