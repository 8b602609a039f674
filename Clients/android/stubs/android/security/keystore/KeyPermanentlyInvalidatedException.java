package android.security.keystore;

/** A stub for snippets. */
public class KeyPermanentlyInvalidatedException extends java.security.InvalidKeyException {
    private static final long serialVersionUID = 1;
}
