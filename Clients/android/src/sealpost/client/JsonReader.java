package sealpost.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A recursive-descent parser of bytes (RFC 8259). Limiting the depth also limits the stack. */
final class JsonReader {
    private static final int MAXIMUM_DEPTH = 64;

    private final byte[] bytes;
    private int position = 0;
    private int depth = 0;

    JsonReader(byte[] bytes) {
        this.bytes = bytes;
    }

    Json text() throws JsonException {
        Json value = value();
        skipBlanks();
        if (position < bytes.length) throw error("unexpected data after the value");
        return value;
    }

    private Json value() throws JsonException {
        skipBlanks();
        int next = peek();
        switch (next) {
            case '{':
            case '[':
                if (depth == MAXIMUM_DEPTH) throw error("more than " + MAXIMUM_DEPTH + " levels");
                depth++;
                position++;
                Json nested = next == '{' ? restOfObject() : restOfArray();
                depth--;
                return nested;
            case '"':
                return Json.of(string());
            case 't':
                return word("true", Json.of(true));
            case 'f':
                return word("false", Json.of(false));
            case 'n':
                return word("null", Json.NULL);
            case -1:
                throw error("a value is missing");
            default:
                if (next == '-' || isDigit(next)) return number();
                throw error("unexpected character");
        }
    }

    private Json restOfObject() throws JsonException {
        List<String> names = new ArrayList<>();
        List<Json> values = new ArrayList<>();
        skipBlanks();
        if (take('}')) return Json.object(names, values);
        do {
            skipBlanks();
            if (peek() != '"') throw error("a member's name is missing");
            names.add(string());
            skipBlanks();
            if (!take(':')) throw error("a colon is missing");
            values.add(value());
            skipBlanks();
        } while (take(','));
        if (!take('}')) throw error("the object is not terminated");
        return Json.object(names, values);
    }

    private Json restOfArray() throws JsonException {
        List<Json> elements = new ArrayList<>();
        skipBlanks();
        if (take(']')) return Json.array(elements);
        do {
            elements.add(value());
            skipBlanks();
        } while (take(','));
        if (!take(']')) throw error("the array is not terminated");
        return Json.array(elements);
    }

    private Json word(String word, Json value) throws JsonException {
        for (int index = 0; index < word.length(); index++) {
            if (!take(word.charAt(index))) throw error("unexpected character");
        }
        return value;
    }

    private Json number() throws JsonException {
        int start = position;
        take('-');
        if (!take('0')) digits();
        if (take('.')) digits();
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            digits();
        }
        return Json.number(new String(bytes, start, position - start, StandardCharsets.US_ASCII));
    }

    private void digits() throws JsonException {
        int start = position;
        while (isDigit(peek())) position++;
        if (position == start) throw error("a digit is missing");
    }

    private String string() throws JsonException {
        position++;
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        while (position < bytes.length) {
            // Writing byte by byte would take most of the time of reading a page.
            int start = position;
            while (isPlain(peek())) position++;
            text.write(bytes, start, position - start);
            if (take('"')) {
                try {
                    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text.toByteArray())).toString();
                } catch (CharacterCodingException invalid) {
                    throw error("the string is not UTF-8");
                }
            }
            if (take('\\')) escape(text);
            else if (position < bytes.length) throw error("a control character in a string");
        }
        throw error("the string is not terminated");
    }

    private static boolean isPlain(int next) {
        return next >= 0x20 && next != '"' && next != '\\';
    }

    private void escape(ByteArrayOutputStream text) throws JsonException {
        if (position == bytes.length) throw error("the string is not terminated");
        int next = bytes[position++];
        if (next == 'u') {
            byte[] scalar = new String(Character.toChars(scalar())).getBytes(StandardCharsets.UTF_8);
            text.write(scalar, 0, scalar.length);
            return;
        }
        int index = "\"\\/bfnrt".indexOf(next);
        if (index < 0) throw error("unknown escape");
        text.write("\"\\/\b\f\n\r\t".charAt(index));
    }

    /**
     * The scalar after {@code \}{@code u}; a surrogate pair is one scalar, and a lone surrogate is
     * an error.
     */
    private int scalar() throws JsonException {
        int high = hex();
        if (high < 0xD800 || high > 0xDFFF) return high;
        if (high >= 0xDC00 || !take('\\') || !take('u')) throw error("incomplete surrogate pair");
        int low = hex();
        if (low < 0xDC00 || low > 0xDFFF) throw error("incomplete surrogate pair");
        return 0x10000 + (high - 0xD800 << 10) + (low - 0xDC00);
    }

    private int hex() throws JsonException {
        int value = 0;
        for (int count = 0; count < 4; count++) {
            // Character.digit() also accepts digits of other scripts, but none of them is a single
            // byte.
            int digit = position < bytes.length ? Character.digit(bytes[position], 16) : -1;
            if (digit < 0) throw error("four hexadecimal digits are missing");
            position++;
            value = value << 4 | digit;
        }
        return value;
    }

    private static boolean isDigit(int next) {
        return next >= '0' && next <= '9';
    }

    private int peek() {
        return position < bytes.length ? bytes[position] & 0xFF : -1;
    }

    private boolean take(char next) {
        if (peek() != next) return false;
        position++;
        return true;
    }

    private void skipBlanks() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') position++;
    }

    private JsonException error(String reason) {
        return new JsonException(reason, position);
    }
}
