package android.content;

/** A stub for snippets. */
public abstract class Context {
    public java.io.File getNoBackupFilesDir() {
        return new java.io.File(System.getProperty("java.io.tmpdir"), "sealpost-stub");
    }

    public Context getApplicationContext() {
        throw new UnsupportedOperationException();
    }

    public final String getString(int id) {
        return "";
    }

    public <T> T getSystemService(Class<T> type) {
        return type.cast(new android.app.NotificationManager());
    }
}
