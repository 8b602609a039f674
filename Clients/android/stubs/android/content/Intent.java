package android.content;

/** A stub for snippets. */
public class Intent {
    public Intent(Context context, Class<?> component) {}

    public Intent putExtra(String name, long value) {
        return this;
    }

    public long getLongExtra(String name, long otherwise) {
        return otherwise;
    }
}
