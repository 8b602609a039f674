package android.app;

/** A stub for snippets. */
public class AlertDialog {
    /** A stub for snippets. */
    public static class Builder {
        public Builder(android.content.Context context) {}

        public Builder setMessage(CharSequence text) {
            return this;
        }

        public AlertDialog show() {
            return new AlertDialog();
        }
    }
}
