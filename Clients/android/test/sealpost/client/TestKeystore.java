package sealpost.client;

import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyPairGeneratorSpi;
import java.security.KeyStoreSpi;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.SignatureException;
import java.security.SignatureSpi;
import java.security.cert.Certificate;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.ECGenParameterSpec;
import java.util.Collections;
import java.util.Date;
import java.util.Enumeration;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.KeyAgreement;
import javax.crypto.KeyAgreementSpi;
import javax.crypto.SecretKey;

/**
 * A provider like Android's Keystore: nobody can read its private keys, only the provider can use
 * them, and each only for its purpose.
 */
public final class TestKeystore extends Provider {
    private static final long serialVersionUID = 1;
    /** The values of Android's {@code KeyProperties}. */
    static final int SIGN = 4;
    static final int AGREE = 64;

    /** The keys by their names. */
    public static final Map<String, PrivateKey> KEYS = new TreeMap<>();

    public TestKeystore() {
        super("AndroidKeyStore", "1", "a substitute");
        put("KeyPairGenerator.EC", Generator.class.getName());
        put("KeyStore.AndroidKeyStore", Entries.class.getName());
        put("KeyAgreement.ECDH", Agreement.class.getName());
        put("Signature.SHA256withECDSA", Signing.class.getName());
    }

    /** A key that cannot be exported. */
    static final class Opaque implements PrivateKey {
        private static final long serialVersionUID = 1;
        private final transient PrivateKey key;
        private final int purpose;

        Opaque(PrivateKey key, int purpose) {
            this.key = key;
            this.purpose = purpose;
        }

        static PrivateKey open(Key key, int purpose) throws InvalidKeyException {
            if (key instanceof Opaque && ((Opaque) key).purpose == purpose) return ((Opaque) key).key;
            throw new InvalidKeyException("not a key of this Keystore for this purpose");
        }

        @Override
        public String getAlgorithm() {
            return "EC";
        }

        @Override
        public String getFormat() {
            return null;
        }

        @Override
        public byte[] getEncoded() {
            return null;
        }

        @Override
        public String toString() {
            return "purpose " + purpose;
        }
    }

    /** Reads the specification by reflection, because its class is a stub of the snippets. */
    public static final class Generator extends KeyPairGeneratorSpi {
        private String alias = "";
        private int purpose;

        @Override
        public void initialize(int size, SecureRandom random) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void initialize(AlgorithmParameterSpec spec, SecureRandom random) {
            try {
                alias = (String) spec.getClass().getMethod("getKeystoreAlias").invoke(spec);
                purpose = (Integer) spec.getClass().getMethod("getPurposes").invoke(spec);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public KeyPair generateKeyPair() {
            try {
                KeyPairGenerator generator = KeyPairGenerator.getInstance("EC", "SunEC");
                generator.initialize(new ECGenParameterSpec("secp256r1"));
                KeyPair pair = generator.generateKeyPair();
                KEYS.put(alias, new Opaque(pair.getPrivate(), purpose));
                return new KeyPair(pair.getPublic(), KEYS.get(alias));
            } catch (GeneralSecurityException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Signs with the keys. */
    @SuppressWarnings("deprecation")
    public static final class Signing extends SignatureSpi {
        private final Signature signature;

        public Signing() throws GeneralSecurityException {
            signature = Signature.getInstance("SHA256withECDSA", "SunEC");
        }

        @Override
        protected void engineInitSign(PrivateKey key) throws InvalidKeyException {
            signature.initSign(Opaque.open(key, SIGN));
        }

        @Override
        protected void engineInitVerify(PublicKey key) throws InvalidKeyException {
            throw new InvalidKeyException("the Keystore has private keys only");
        }

        @Override
        protected void engineUpdate(byte value) throws SignatureException {
            signature.update(value);
        }

        @Override
        protected void engineUpdate(byte[] bytes, int offset, int length) throws SignatureException {
            signature.update(bytes, offset, length);
        }

        @Override
        protected byte[] engineSign() throws SignatureException {
            return signature.sign();
        }

        @Override
        protected boolean engineVerify(byte[] value) {
            return false;
        }

        @Override
        protected void engineSetParameter(String name, Object value) {}

        @Override
        protected Object engineGetParameter(String name) {
            return null;
        }
    }

    /** Agrees on secrets with the keys. */
    public static final class Agreement extends KeyAgreementSpi {
        private final KeyAgreement agreement;

        public Agreement() throws GeneralSecurityException {
            agreement = KeyAgreement.getInstance("ECDH", "SunEC");
        }

        @Override
        protected void engineInit(Key key, SecureRandom random) throws InvalidKeyException {
            agreement.init(Opaque.open(key, AGREE));
        }

        @Override
        protected void engineInit(Key key, AlgorithmParameterSpec spec, SecureRandom random) throws InvalidKeyException {
            engineInit(key, random);
        }

        @Override
        protected Key engineDoPhase(Key key, boolean isLast) throws InvalidKeyException {
            return agreement.doPhase(key, isLast);
        }

        @Override
        protected byte[] engineGenerateSecret() {
            return agreement.generateSecret();
        }

        @Override
        protected int engineGenerateSecret(byte[] secret, int offset) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected SecretKey engineGenerateSecret(String algorithm) {
            throw new UnsupportedOperationException();
        }
    }

    /** The entries, in memory. */
    public static final class Entries extends KeyStoreSpi {
        @Override
        public Key engineGetKey(String alias, char[] password) {
            return KEYS.get(alias);
        }

        @Override
        public void engineDeleteEntry(String alias) {
            KEYS.remove(alias);
        }

        @Override
        public void engineLoad(InputStream in, char[] password) {}

        @Override
        public Enumeration<String> engineAliases() {
            return Collections.enumeration(KEYS.keySet());
        }

        @Override
        public boolean engineContainsAlias(String alias) {
            return KEYS.containsKey(alias);
        }

        @Override
        public int engineSize() {
            return KEYS.size();
        }

        @Override
        public boolean engineIsKeyEntry(String alias) {
            return KEYS.containsKey(alias);
        }

        @Override
        public boolean engineIsCertificateEntry(String alias) {
            return false;
        }

        @Override
        public Certificate[] engineGetCertificateChain(String alias) {
            return null;
        }

        @Override
        public Certificate engineGetCertificate(String alias) {
            return null;
        }

        @Override
        public String engineGetCertificateAlias(Certificate certificate) {
            return null;
        }

        @Override
        public Date engineGetCreationDate(String alias) {
            return null;
        }

        @Override
        public void engineSetKeyEntry(String alias, Key key, char[] password, Certificate[] chain) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void engineSetKeyEntry(String alias, byte[] key, Certificate[] chain) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void engineSetCertificateEntry(String alias, Certificate certificate) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void engineStore(OutputStream out, char[] password) {
            throw new UnsupportedOperationException();
        }
    }
}
