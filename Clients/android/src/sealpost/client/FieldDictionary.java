package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/**
 * A dictionary of structured fields (RFC 9651 section 3.2): its members in order, including
 * repeated keys.
 */
final class FieldDictionary {
    /** A value without its parameters, and its canonical spelling. */
    static final class Bare {
        enum Kind {
            INTEGER,
            DECIMAL,
            STRING,
            TOKEN,
            BYTES,
            BOOLEAN,
            DATE,
            DISPLAY
        }

        final Kind kind;
        /** The spelling in a field. */
        final String spelling;
        /** The characters of a string; the number of an integer. */
        final @Nullable String string;

        final long integer;
        final @Nullable byte[] bytes;

        private Bare(Kind kind, String spelling, @Nullable String string, long integer, @Nullable byte[] bytes) {
            this.kind = kind;
            this.spelling = spelling;
            this.string = string;
            this.integer = integer;
            this.bytes = bytes;
        }

        static Bare of(Kind kind, String spelling) {
            return new Bare(kind, spelling, null, 0, null);
        }

        static Bare integer(long value) {
            return new Bare(Kind.INTEGER, Long.toString(value), null, value, null);
        }

        static Bare string(String value) {
            String escaped = value.replace("\\", "\\\\").replace("\"", "\\\"");
            return new Bare(Kind.STRING, '"' + escaped + '"', value, 0, null);
        }

        static Bare bytes(byte[] value) {
            return new Bare(Kind.BYTES, ':' + Base64.standard(value) + ':', null, 0, value);
        }

        static final Bare TRUE = of(Kind.BOOLEAN, "?1");

        boolean isString(String text) {
            return kind == Kind.STRING && text.equals(string);
        }
    }

    /** A value with its parameters. */
    static final class NotificationItem {
        final Bare value;
        final Parameters parameters;

        NotificationItem(Bare value, Parameters parameters) {
            this.value = value;
            this.parameters = parameters;
        }

        String text() {
            return value.spelling + parameters.text();
        }
    }

    /** Parameters in their order. */
    static final class Parameters {
        final List<String> keys = new ArrayList<>();
        final List<Bare> values = new ArrayList<>();

        /** The last value with this key; null if there is none. */
        @Nullable Bare get(String key) {
            int index = keys.lastIndexOf(key);
            return index < 0 ? null : values.get(index);
        }

        boolean hasRepeated() {
            return new HashSet<>(keys).size() < keys.size();
        }

        String text() {
            StringBuilder text = new StringBuilder();
            for (int index = 0; index < keys.size(); index++) {
                text.append(';').append(keys.get(index));
                String spelling = values.get(index).spelling;
                if (!spelling.equals("?1")) text.append('=').append(spelling);
            }
            return text.toString();
        }
    }

    /** The value of a key: an item, or an inner list with parameters. */
    static final class Member {
        final @Nullable NotificationItem item;
        final @Nullable List<NotificationItem> list;
        final Parameters parameters;

        Member(@Nullable NotificationItem item, @Nullable List<NotificationItem> list, Parameters parameters) {
            this.item = item;
            this.list = list;
            this.parameters = parameters;
        }

        /** The list without its parameters. */
        String listText() {
            StringBuilder text = new StringBuilder("(");
            if (list != null) {
                for (NotificationItem item : list) text.append(text.length() > 1 ? " " : "").append(item.text());
            }
            return text.append(')').toString();
        }
    }

    final List<String> keys = new ArrayList<>();
    final List<Member> members = new ArrayList<>();

    void add(String key, Member member) {
        keys.add(key);
        members.add(member);
    }

    /** The last member with this key; null if there is none. */
    @Nullable Member get(String key) {
        int index = keys.lastIndexOf(key);
        return index < 0 ? null : members.get(index);
    }

    boolean hasRepeated(String key) {
        return keys.indexOf(key) != keys.lastIndexOf(key);
    }

    boolean hasRepeated() {
        return new HashSet<>(keys).size() < keys.size();
    }
}
