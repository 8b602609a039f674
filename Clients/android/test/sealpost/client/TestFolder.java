package sealpost.client;

import java.io.File;
import java.io.IOException;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/** A folder for one test, which is removed at the end of the test. */
final class TestFolder implements AutoCloseable {
    static final SecretKey KEY = new SecretKeySpec(new byte[32], "AES");

    final File file;

    TestFolder() throws IOException {
        file = java.nio.file.Files.createTempDirectory("sealpost-").toFile();
    }

    Store store() {
        return new Store(file, KEY);
    }

    /** The number of files at any depth. */
    static int count(File folder) {
        int count = 0;
        File[] files = folder.listFiles();
        for (File file : files == null ? new File[0] : files) count += file.isDirectory() ? count(file) : 1;
        return count;
    }

    @Override
    public void close() {
        remove(file);
    }

    private static void remove(File file) {
        File[] files = file.listFiles();
        for (File inner : files == null ? new File[0] : files) remove(inner);
        file.delete();
    }
}
