package android.widget;

/** A stub for snippets. */
public class ListView extends android.view.ViewGroup {
    public ListView(android.content.Context context) {
        super(context);
    }

    public void setAdapter(BaseAdapter adapter) {}
}
