package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Key;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;

/**
 * Encrypts with AES-GCM. The cipher chooses the nonce, as the Android Keystore requires.
 *
 * <p>Each ciphertext is bound to its place, so that a moved file cannot be decrypted.
 */
final class Sealer {
    private static final int NONCE = 12;
    private static final int TAG_BITS = 128;

    private final Key key;

    Sealer(Key key) {
        this.key = key;
    }

    byte[] seal(byte[] content, String place) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, key);
        byte[] nonce = cipher.getIV();
        if (nonce == null || nonce.length != NONCE) throw new GeneralSecurityException("a nonce has 12 bytes");
        cipher.updateAAD(place.getBytes(StandardCharsets.UTF_8));
        byte[] sealed = new byte[NONCE + cipher.getOutputSize(content.length)];
        System.arraycopy(nonce, 0, sealed, 0, NONCE);
        int count = cipher.doFinal(content, 0, content.length, sealed, NONCE);
        return java.util.Arrays.copyOf(sealed, NONCE + count);
    }

    /**
     * The plaintext; null if the ciphertext is damaged, or was encrypted with another key or for
     * another place. Throws if the key is unavailable.
     */
    @Nullable byte[] open(byte[] sealed, String place) throws GeneralSecurityException {
        if (sealed.length < NONCE + TAG_BITS / 8) return null;
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(TAG_BITS, sealed, 0, NONCE));
        cipher.updateAAD(place.getBytes(StandardCharsets.UTF_8));
        try {
            return cipher.doFinal(sealed, NONCE, sealed.length - NONCE);
        } catch (AEADBadTagException other) {
            return null;
        }
    }
}
