package android.view;

/** A stub for snippets. */
public abstract class ViewGroup extends View {
    public ViewGroup(android.content.Context context) {
        super(context);
    }

    public void addView(View view) {}
}
