package sealpost.client;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The state of an account without its contents: cursor, entries, deletions, marks, registration,
 * outbox, token and identifier. It is one value, so that none is ever without the others.
 */
final class Index {
    /** Of the encoded form. */
    static final int MAXIMUM_BYTES = 65_536 - 28;

    private static final int FORM = 1;
    private static final int HISTORY = 32;
    static final int MAXIMUM_DELETIONS = 500;
    static final int MAXIMUM_MARKS = 16;

    /** Where a sealed content is: the commit that wrote it, and the number of the file in that. */
    static final class Place {
        final long commit;
        final int number;
        /** Its bytes, in units of 256. */
        final int units;

        private Place(long commit, int number, int units) {
            this.commit = commit;
            this.number = number;
            this.units = units;
        }

        static Place of(long commit, int number, byte[] content) {
            return new Place(commit, number, (content.length + 255) / 256);
        }
    }

    /** Something that is to be told the server. */
    static final class Task {
        enum Kind {
            READ,
            UNREAD,
            DISMISS,
            SEND
        }

        final Kind kind;
        /** The same for as long as it is tried. */
        final String key;

        final long id;
        /** Of what is sent; null for other kinds. */
        final @Nullable Place payload;
        /** When it was first tried, or 0. */
        final long triedAt;

        Task(Kind kind, String key, long id, @Nullable Place payload, long triedAt) {
            this.kind = kind;
            this.key = key;
            this.id = id;
            this.payload = payload;
            this.triedAt = triedAt;
        }
    }

    /** The names of the last commits, the latest first: whether one was made upon another. */
    final List<String> history = new ArrayList<>();

    @Nullable String cursor;
    /** When the inbox was last known to be complete, by the device's clock; 0 if never. */
    long completeAt = 0;
    /** The first time, by the server's clock, that an entry ends at. */
    long earliestExpiry = Long.MAX_VALUE;
    /** In the order of arrival. */
    final LinkedHashMap<Long, Place> entries = new LinkedHashMap<>();
    /** The commit in which each was deleted. */
    final LinkedHashMap<Long, Long> deletions = new LinkedHashMap<>();
    /** The commit up to which deletions are no longer known. */
    long forgottenUpTo = 0;

    /** The consumers' marks, in the order in which they have confirmed. */
    final LinkedHashMap<String, Long> marks = new LinkedHashMap<>();
    final List<Task> outbox = new ArrayList<>();
    /** Tasks that will never be done, with the code of the server's refusal, or an empty text. */
    final LinkedHashMap<String, String> failed = new LinkedHashMap<>();
    @Nullable String registration;
    byte[] fingerprint = {};
    long registeredAt = 0;
    /** The token of the session; null if the app keeps it elsewhere. */
    @Nullable String token;
    /** The account's identifier, which the server's answers must have; null if the client does not know it. */
    @Nullable String account;

    void addToHistory(String name) {
        history.add(0, name);
        while (history.size() > HISTORY) history.remove(history.size() - 1);
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(FORM);
            number(out, history.size());
            for (String name : history) out.writeUTF(name);
            text(out, cursor);
            out.writeLong(completeAt);
            out.writeLong(earliestExpiry);
            number(out, entries.size());
            for (Map.Entry<Long, Place> entry : entries.entrySet()) {
                out.writeLong(entry.getKey());
                place(out, entry.getValue());
            }
            number(out, deletions.size());
            for (Map.Entry<Long, Long> entry : deletions.entrySet()) {
                out.writeLong(entry.getKey());
                number(out, entry.getValue());
            }
            number(out, forgottenUpTo);
            number(out, marks.size());
            for (Map.Entry<String, Long> entry : marks.entrySet()) {
                out.writeUTF(entry.getKey());
                number(out, entry.getValue());
            }
            number(out, outbox.size());
            for (Task task : outbox) {
                out.writeByte(task.kind.ordinal());
                out.writeUTF(task.key);
                out.writeLong(task.id);
                out.writeLong(task.triedAt);
                out.writeBoolean(task.payload != null);
                if (task.payload != null) place(out, task.payload);
            }
            number(out, failed.size());
            for (Map.Entry<String, String> entry : failed.entrySet()) {
                out.writeUTF(entry.getKey());
                out.writeUTF(entry.getValue());
            }
            text(out, registration);
            number(out, fingerprint.length);
            out.write(fingerprint);
            out.writeLong(registeredAt);
            text(out, token);
            text(out, account);
        } catch (IOException never) {
            throw new IllegalStateException("memory can be written", never);
        }
        return bytes.toByteArray();
    }

    /** Null for a form of another version. */
    static @Nullable Index decode(byte[] bytes) {
        Index index = new Index();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readByte() != FORM) return null;
            for (long count = number(in); count > 0; count--) index.history.add(in.readUTF());
            index.cursor = text(in);
            index.completeAt = in.readLong();
            index.earliestExpiry = in.readLong();
            for (long count = number(in); count > 0; count--) index.entries.put(in.readLong(), place(in));
            for (long count = number(in); count > 0; count--) index.deletions.put(in.readLong(), number(in));
            index.forgottenUpTo = number(in);
            for (long count = number(in); count > 0; count--) index.marks.put(in.readUTF(), number(in));
            for (long count = number(in); count > 0; count--) {
                Task.Kind kind = Task.Kind.values()[in.readByte()];
                String key = in.readUTF();
                long id = in.readLong();
                long triedAt = in.readLong();
                index.outbox.add(new Task(kind, key, id, in.readBoolean() ? place(in) : null, triedAt));
            }
            for (long count = number(in); count > 0; count--) index.failed.put(in.readUTF(), in.readUTF());
            index.registration = text(in);
            byte[] fingerprint = new byte[(int) Math.min(number(in), 64)];
            in.readFully(fingerprint);
            index.fingerprint = fingerprint;
            index.registeredAt = in.readLong();
            // An index of the version before ends here, and that version ignores the rest.
            if (in.available() == 0) return index;
            index.token = text(in);
            index.account = text(in);
            return index;
        } catch (IOException | RuntimeException other) {
            // It was opened with the right key, so another version wrote it.
            return null;
        }
    }

    Index copy() {
        Index copy = decode(encode());
        if (copy == null) throw new IllegalStateException("an index reads what it has written");
        return copy;
    }

    /** Whether both say the same, but for the history. */
    boolean equals(Index other) {
        Index plain = copy();
        Index otherPlain = other.copy();
        plain.history.clear();
        otherPlain.history.clear();
        return Arrays.equals(plain.encode(), otherPlain.encode());
    }

    private static void place(DataOutputStream out, Place place) throws IOException {
        number(out, place.commit);
        number(out, place.number);
        number(out, place.units);
    }

    private static Place place(DataInputStream in) throws IOException {
        long commit = number(in);
        int number = (int) number(in);
        return new Place(commit, number, (int) number(in));
    }

    private static void text(DataOutputStream out, @Nullable String text) throws IOException {
        out.writeBoolean(text != null);
        if (text != null) out.writeUTF(text);
    }

    private static @Nullable String text(DataInputStream in) throws IOException {
        return in.readBoolean() ? in.readUTF() : null;
    }

    /** Seven bits in each byte, the low ones first. */
    private static void number(DataOutputStream out, long value) throws IOException {
        long rest = value;
        for (; rest > 127; rest >>>= 7) out.writeByte((int) (rest & 127 | 128));
        out.writeByte((int) rest);
    }

    private static long number(DataInputStream in) throws IOException {
        long value = 0;
        for (int shift = 0; shift < 63; shift += 7) {
            int next = in.readUnsignedByte();
            value |= (long) (next & 127) << shift;
            if (next < 128) return value;
        }
        throw new IOException("a number is too long");
    }
}
