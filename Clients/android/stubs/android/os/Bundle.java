package android.os;

/** A stub for snippets. */
public final class Bundle {
}
