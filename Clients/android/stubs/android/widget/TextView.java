package android.widget;

/** A stub for snippets. */
public class TextView extends android.view.View {
    public TextView(android.content.Context context) {
        super(context);
    }

    public final void setText(CharSequence text) {}

    public void setText(int id) {}

    public final void setHint(int id) {}

    public CharSequence getText() {
        return "";
    }
}
