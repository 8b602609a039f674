package android.widget;

/** A stub for snippets. */
public class Button extends TextView {
    public Button(android.content.Context context) {
        super(context);
    }
}
