package sealpost.client;

/**
 * Verifies an Ed25519 signature (RFC 8032).
 *
 * <p>Most devices have no Ed25519 in {@code java.security}, so an app passes a verifier, such as
 * Tink's:
 *
 * <pre>{@code
 * Verifier tink = (publicKey, message, signature) -> {
 *     try {
 *         new Ed25519Verify(publicKey).verify(signature, message);
 *         return true;
 *     } catch (GeneralSecurityException wrong) {
 *         return false;
 *     }
 * };
 * }</pre>
 */
public interface Verifier {
    /**
     * Whether the key has signed the message.
     *
     * @param publicKey 32 bytes @param signature the signature as received, of any length
     */
    boolean verify(byte[] publicKey, byte[] message, byte[] signature);
}
