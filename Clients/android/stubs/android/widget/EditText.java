package android.widget;

/** A stub for snippets. */
public class EditText extends TextView {
    public EditText(android.content.Context context) {
        super(context);
    }

    public void setInputType(int type) {}
}
