package android.view;

/** A stub for snippets. */
public class View {
    /** A stub for snippets. */
    public interface OnClickListener {
        void onClick(View view);
    }

    public View(android.content.Context context) {}

    public void setOnClickListener(OnClickListener listener) {}
}
