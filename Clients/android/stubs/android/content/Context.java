package android.content;

/** A stub for snippets. */
public abstract class Context {
    public java.io.File getNoBackupFilesDir() {
        throw new UnsupportedOperationException();
    }

    public Context getApplicationContext() {
        throw new UnsupportedOperationException();
    }

    public final String getString(int id) {
        throw new UnsupportedOperationException();
    }

    public <T> T getSystemService(Class<T> type) {
        throw new UnsupportedOperationException();
    }
}
