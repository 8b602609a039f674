package android.security.keystore;

/** A stub for snippets. */
public final class KeyGenParameterSpec implements java.security.spec.AlgorithmParameterSpec {
    /** A stub for snippets. */
    public static final class Builder {
        public Builder(String alias, int purposes) {}

        public Builder setKeySize(int bits) {
            return this;
        }

        public Builder setBlockModes(String... modes) {
            return this;
        }

        public Builder setEncryptionPaddings(String... paddings) {
            return this;
        }

        public KeyGenParameterSpec build() {
            return new KeyGenParameterSpec();
        }
    }
}
