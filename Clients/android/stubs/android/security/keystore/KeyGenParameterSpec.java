package android.security.keystore;

/** A stub for snippets. */
public final class KeyGenParameterSpec implements java.security.spec.AlgorithmParameterSpec {
    private final String alias;
    private final int purposes;

    private KeyGenParameterSpec(String alias, int purposes) {
        this.alias = alias;
        this.purposes = purposes;
    }

    public String getKeystoreAlias() {
        return alias;
    }

    public int getPurposes() {
        return purposes;
    }

    /** A stub for snippets. */
    public static final class Builder {
        private final String alias;
        private final int purposes;

        public Builder(String alias, int purposes) {
            this.alias = alias;
            this.purposes = purposes;
        }

        public Builder setAlgorithmParameterSpec(java.security.spec.AlgorithmParameterSpec spec) {
            return this;
        }

        public Builder setDigests(String... digests) {
            return this;
        }

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
            return new KeyGenParameterSpec(alias, purposes);
        }
    }
}
