package sealpost.client;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.security.SecureRandom;

/** The file operations of the store; {@code java.nio.file} needs API level 26. */
final class Files {
    private static final SecureRandom RANDOM = new SecureRandom();
    /** The prefix of folders that are not complete yet. */
    static final String MADE = "t-";
    /** The prefix of folders that the client is removing. */
    static final String REMOVED = "x-";

    /** Whether the disk is full; tests set it. */
    static volatile boolean isFull = false;

    private Files() {}

    static byte[] random(int count) {
        byte[] bytes = new byte[count];
        RANDOM.nextBytes(bytes);
        return bytes;
    }

    static String hexadecimal(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte next : bytes) text.append(Character.forDigit(next >> 4 & 15, 16)).append(Character.forDigit(next & 15, 16));
        return text.toString();
    }

    /** Creates a folder inside {@code parent}, with a random name. */
    static File makeFolder(File parent) throws IOException {
        File folder = new File(parent, MADE + hexadecimal(random(8)));
        if (!folder.mkdir()) throw new IOException("a folder of the store cannot be created");
        return folder;
    }

    /** Writes a new file and syncs it. */
    static void write(File file, byte[] content) throws IOException {
        write(file, content, true);
    }

    /**
     * Writes a new file. Without a sync a loss of power may damage it, though a crash of the
     * process cannot.
     */
    static void write(File file, byte[] content, boolean isSynced) throws IOException {
        if (isFull) throw new IOException("no space left on the device");
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(content);
            if (isSynced) out.getFD().sync();
        }
    }

    /** Throws {@link java.io.FileNotFoundException} if the file is missing. */
    static byte[] read(File file) throws IOException {
        try (FileInputStream in = new FileInputStream(file)) {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            byte[] piece = new byte[16_384];
            int count;
            while ((count = in.read(piece)) >= 0) content.write(piece, 0, count);
            return content.toByteArray();
        }
    }

    /**
     * Renames a folder with its files, if no folder with files has the new name. If several
     * processes try at once, only one gets true.
     *
     * <p>rename(2) of a folder fails if a folder with files has the new name.
     */
    static boolean claim(File made, File name) {
        return made.renameTo(name);
    }

    /** Renames a folder in one step, which makes it invisible to clients, and then removes it. */
    static void remove(File folder) {
        File removed = new File(folder.getParentFile(), REMOVED + hexadecimal(random(8)));
        if (folder.getName().startsWith(REMOVED)) removed = folder;
        else if (!folder.renameTo(removed)) return;
        removeAll(removed);
    }

    /** Removes a folder without renaming it first. */
    static void removeAll(File folder) {
        File[] files = folder.listFiles();
        if (files != null) {
            for (File file : files) {
                if (!file.delete()) removeAll(file);
            }
        }
        // The next start removes the remaining files.
        folder.delete();
    }

    /**
     * Removes what crashes left behind: folders marked for removal, and incomplete folders older
     * than ten minutes.
     */
    static void sweep(File parent, long now) {
        for (String name : names(parent)) {
            File file = new File(parent, name);
            boolean isOld = Math.abs(now - file.lastModified()) > 600_000;
            if (name.startsWith(REMOVED) || name.startsWith(MADE) && isOld) remove(file);
        }
    }

    /** The names in a folder; empty if the folder is missing. */
    static String[] names(File folder) {
        String[] names = folder.list();
        return names == null ? new String[0] : names;
    }
}
