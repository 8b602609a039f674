package android.text;

/** A stub for snippets. */
public interface InputType {
    int TYPE_CLASS_TEXT = 1;
    int TYPE_TEXT_VARIATION_PASSWORD = 128;
}
