package example;

import com.google.crypto.tink.subtle.Ed25519Verify;
import java.security.GeneralSecurityException;
import sealpost.client.Verifier;

final class Tink implements Verifier {
    @Override
    public boolean verify(byte[] publicKey, byte[] message, byte[] signature) {
        try {
            new Ed25519Verify(publicKey).verify(signature, message);
            return true;
        } catch (GeneralSecurityException wrong) {
            return false;
        }
    }
}
