package androidx.work;

/** A stub for snippets. */
public final class Constraints {
    /** A stub for snippets. */
    public static final class Builder {
        public Builder setRequiredNetworkType(NetworkType type) {
            return this;
        }

        public Constraints build() {
            return new Constraints();
        }
    }
}
