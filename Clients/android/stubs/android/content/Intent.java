package android.content;

/** A stub for snippets. */
public class Intent {
    private Long extra;

    public Intent(Context context, Class<?> component) {}

    public Intent putExtra(String name, long value) {
        extra = value;
        return this;
    }

    public long getLongExtra(String name, long otherwise) {
        return extra == null ? otherwise : extra;
    }
}
