package android.widget;

/** A stub for snippets. */
public abstract class BaseAdapter {
    public abstract int getCount();

    public abstract Object getItem(int position);

    public abstract long getItemId(int position);

    public abstract android.view.View getView(int position, android.view.View old, android.view.ViewGroup parent);
}
