package android.os;

/** A stub for snippets. */
public class Build {
    /** A stub for snippets. */
    public static class VERSION {
        public static final int SDK_INT = Integer.getInteger("sealpost.sdk", 24);
    }
}
