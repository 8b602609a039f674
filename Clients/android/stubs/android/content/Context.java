package android.content;

/** A stub for snippets. */
public abstract class Context {
    public abstract java.io.File getNoBackupFilesDir();

    public abstract Context getApplicationContext();

    public abstract String getString(int id);

    public abstract <T> T getSystemService(Class<T> type);
}
