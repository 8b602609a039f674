package sealpost.client;

import androidx.annotation.Nullable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.Map;

/**
 * A file with encrypted contents of one commit. The file begins with the lengths of its contents;
 * the length of an erased content is negative.
 *
 * <p>A box never changes, except that zeros replace contents that are no longer in use. A file for
 * each content would cost a first sync more time than anything else.
 */
final class Box {
    /** The maximum number of contents in a box. A box exists until none of them is in use. */
    static final int SLOTS = 16;

    private static final int HEADER = 4 * SLOTS;
    private static final String PREFIX = "b";

    private Box() {}

    /** The name of the box that has the content of this number. */
    static String name(int number) {
        return PREFIX + number / SLOTS;
    }

    /** The number of a box's first content; negative if the file is not a box. */
    static int first(String name) {
        try {
            return name.startsWith(PREFIX) ? Integer.parseInt(name.substring(PREFIX.length())) * SLOTS : -1;
        } catch (NumberFormatException other) {
            return -1;
        }
    }

    /** Writes the contents, whose numbers are those of one box, in ascending order. */
    static void write(File file, Map<Integer, byte[]> contents) throws IOException {
        int size = HEADER;
        for (byte[] content : contents.values()) size += content.length;
        ByteBuffer bytes = ByteBuffer.allocate(size);
        for (Map.Entry<Integer, byte[]> content : contents.entrySet()) {
            bytes.putInt(content.getKey() % SLOTS * 4, content.getValue().length);
        }
        bytes.position(HEADER);
        for (byte[] content : contents.values()) bytes.put(content);
        Files.write(file, bytes.array(), false);
    }

    /** Reads one content; null if it is missing or erased, or the box is damaged. */
    static @Nullable byte[] read(File file, int number) throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            ByteBuffer lengths = lengths(in);
            if (lengths == null) return null;
            long start = HEADER;
            for (int slot = 0; slot < number % SLOTS; slot++) start += Math.abs(lengths.getInt(slot * 4));
            int length = lengths.getInt(number % SLOTS * 4);
            // A damaged length must not become an allocation.
            if (length <= 0 || start < HEADER || length > in.length() - start) return null;
            byte[] content = new byte[length];
            in.seek(start);
            in.readFully(content);
            return content;
        } catch (FileNotFoundException missing) {
            return null;
        }
    }

    /** Overwrites the contents that are not in use. */
    static void erase(File file, boolean[] isUsed) throws IOException {
        // Opening for writing would create a box that another process has removed.
        if (!file.exists()) return;
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            ByteBuffer lengths = lengths(out);
            long start = HEADER;
            for (int slot = 0; lengths != null && slot < SLOTS; slot++) {
                int stored = lengths.getInt(slot * 4);
                int length = Math.abs(stored);
                if (length < 0 || start + length > out.length()) return;
                if (stored > 0 && !isUsed[slot]) {
                    out.seek(start);
                    out.write(new byte[length]);
                    out.seek(slot * 4);
                    out.writeInt(-length);
                }
                start += length;
            }
        }
    }

    private static @Nullable ByteBuffer lengths(RandomAccessFile file) throws IOException {
        if (file.length() < HEADER) return null;
        byte[] lengths = new byte[HEADER];
        file.readFully(lengths);
        return ByteBuffer.wrap(lengths);
    }
}
