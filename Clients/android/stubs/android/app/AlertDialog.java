package android.app;

/** A stub for snippets. */
public class AlertDialog {
    public static final java.util.List<CharSequence> shown = new java.util.ArrayList<>();

    /** A stub for snippets. */
    public static class Builder {
        private CharSequence message;

        public Builder(android.content.Context context) {}

        public Builder setMessage(CharSequence text) {
            message = text;
            return this;
        }

        public AlertDialog show() {
            shown.add(message);
            return new AlertDialog();
        }
    }
}
