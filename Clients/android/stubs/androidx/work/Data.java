package androidx.work;

/** A stub for snippets. */
public final class Data {
    public long getLong(String key, long otherwise) {
        return otherwise;
    }

    /** A stub for snippets. */
    public static final class Builder {
        public Builder putLong(String key, long value) {
            return this;
        }

        public Data build() {
            return new Data();
        }
    }
}
