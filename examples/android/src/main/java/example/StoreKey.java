package example;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import android.security.keystore.KeyProperties;
import androidx.annotation.Nullable;
import java.security.KeyStore;
import java.security.UnrecoverableKeyException;
import javax.crypto.KeyGenerator;
import javax.crypto.SecretKey;
import sealpost.client.*;

final class StoreKey implements KeyProvider {
    @Override
    public SecretKey key(@Nullable Exception failure) throws Exception {
        synchronized (StoreKey.class) {
            KeyStore keystore = KeyStore.getInstance("AndroidKeyStore");
            keystore.load(null);
            boolean isLost = failure instanceof KeyPermanentlyInvalidatedException || failure instanceof UnrecoverableKeyException;
            if (isLost) keystore.deleteEntry("sealpost");
            SecretKey key = (SecretKey) keystore.getKey("sealpost", null);
            if (key != null) return key;
            KeyGenerator generator = KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, "AndroidKeyStore");
            generator.init(new KeyGenParameterSpec.Builder("sealpost", KeyProperties.PURPOSE_ENCRYPT | KeyProperties.PURPOSE_DECRYPT)
                    .setKeySize(256)
                    .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
                    .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
                    .build());
            return generator.generateKey();
        }
    }
}
