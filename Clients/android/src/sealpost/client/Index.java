package sealpost.client;

import androidx.annotation.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The state of an account without the contents of its notifications: cursor, entries, deletions,
 * marks, registration, outbox, token and identifier. It is a single value, so that all its parts
 * always change together.
 */
final class Index {
    /** The maximum size of the encoded index. */
    static final int MAXIMUM_BYTES = 65_536 - 28;

    private static final int FORM = 1;
    private static final int HISTORY = 32;
    static final int MAXIMUM_DELETIONS = 500;
    static final int MAXIMUM_MARKS = 16;

    /**
     * The place of an encrypted content: the commit that wrote the content, and the number of its
     * file in that commit.
     */
    static final class Place {
        final long commit;
        final int number;
        /** The size of the content, in units of 256 bytes. */
        final int units;

        private Place(long commit, int number, int units) {
            this.commit = commit;
            this.number = number;
            this.units = units;
        }

        boolean isSame(Place other) {
            return commit == other.commit && number == other.number;
        }

        static Place of(long commit, int number, byte[] content) {
            return new Place(commit, number, (content.length + 255) / 256);
        }
    }

    /** A change by the user that the server does not know yet. */
    static final class Task {
        enum Kind {
            READ,
            UNREAD,
            DISMISS,
            SEND
        }

        final Kind kind;
        /** The idempotency key, the same for every attempt. */
        final String key;

        final long id;
        /** The payload to send; null for other kinds. */
        final @Nullable Place payload;
        /** The time of the first attempt; 0 before it. */
        final long triedAt;

        Task(Kind kind, String key, long id, @Nullable Place payload, long triedAt) {
            this.kind = kind;
            this.key = key;
            this.id = id;
            this.payload = payload;
            this.triedAt = triedAt;
        }
    }

    /**
     * The names of the last commits, the latest first. They show whether a commit is based on a
     * certain earlier commit.
     */
    final List<String> history = new ArrayList<>();

    @Nullable String cursor;
    /** The time, by the device's clock, at which the inbox was last complete; 0 if never. */
    long syncedAt = 0;
    /** The earliest expiry of an entry, by the server's clock. */
    long earliestExpiry = Long.MAX_VALUE;
    /** The places of the notifications by their ids, in the order of arrival. */
    final LinkedHashMap<Long, Place> entries = new LinkedHashMap<>();
    /** The commit that deleted each notification. */
    final LinkedHashMap<Long, Long> deletions = new LinkedHashMap<>();
    /** The last commit whose deletions are no longer in {@code deletions}. */
    long forgottenUpTo = 0;

    /**
     * For each consumer of changes its mark, the last commit that it has confirmed. The order is
     * that of the last confirmations.
     */
    final LinkedHashMap<String, Long> marks = new LinkedHashMap<>();
    final List<Task> outbox = new ArrayList<>();
    /** For the key of each failed task, the code of the server's refusal, or an empty text. */
    final LinkedHashMap<String, String> failed = new LinkedHashMap<>();
    @Nullable String registration;
    byte[] fingerprint = {};
    long registeredAt = 0;
    /** The token of the session; null if the app stores it elsewhere. */
    @Nullable String token;
    /** The account's identifier, which every answer must have; null if unknown. */
    @Nullable String account;
    /**
     * The ids of notifications that were fetched one by one, and that no page has contained yet.
     */
    final Set<Long> pushed = new LinkedHashSet<>();
    /** The file with the ids of opened end-to-end messages; null before the first message. */
    @Nullable Place messages;

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
            out.writeLong(syncedAt);
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
            number(out, pushed.size());
            for (long id : pushed) out.writeLong(id);
            if (messages != null) place(out, messages);
        } catch (IOException never) {
            throw new IllegalStateException("memory can be written", never);
        }
        return bytes.toByteArray();
    }

    /** The decoded index; null if another version wrote it. */
    static @Nullable Index decode(byte[] bytes) {
        Index index = new Index();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readByte() != FORM) return null;
            for (long count = number(in); count > 0; count--) index.history.add(in.readUTF());
            index.cursor = text(in);
            index.syncedAt = in.readLong();
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
            // An index of the previous version ends here. That version ignores the bytes after
            // this place.
            if (in.available() == 0) return index;
            index.token = text(in);
            index.account = text(in);
            if (in.available() == 0) return index;
            for (long count = number(in); count > 0; count--) index.pushed.add(in.readLong());
            if (in.available() > 0) index.messages = place(in);
            return index;
        } catch (IOException | RuntimeException other) {
            // The index was decrypted with the right key, so its format is that of another
            // version.
            return null;
        }
    }

    Index copy() {
        Index copy = decode(encode());
        if (copy == null) throw new IllegalStateException("an index reads what it has written");
        return copy;
    }

    /** Whether two indexes are equal, apart from their histories. */
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

    /** Writes a number with seven bits in each byte, the low bits first. */
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
