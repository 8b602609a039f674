package example;

import android.os.Build;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyProperties;
import androidx.annotation.Nullable;
import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.ProviderException;
import java.security.UnrecoverableKeyException;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import sealpost.client.*;

final class EndToEnd {
    /** The texts of the backend's sender keys. Without any, nothing is encrypted end to end. */
    static final List<String> SENDERS = Collections.<String>emptyList();
    /** The name under which the store has the keys of this device. */
    private static final String KEYS = "device keys";
    /** The names of the Keystore's keys. An app with several accounts adds the account. */
    private static final String SIGNING = "sealpost signing";
    private static final String AGREEMENT = "sealpost agreement";
    /** In the store's text, this word stands for a private key that is in the Keystore. */
    private static final String IN_KEYSTORE = "keystore";

    private EndToEnd() {}

    /** Makes the keys of this device for the account of a new session. */
    static void begin(Store store, @Nullable String account) throws PushClientException {
        DeviceKeys known = keys(store);
        boolean isKnown = known != null && known.key().account().equals(account);
        if (SENDERS.isEmpty() || account == null || isKnown) return;
        try {
            KeyPair signing = pair(SIGNING);
            KeyPair agreement = pair(AGREEMENT);
            String text = DeviceKeys.text(account, signing, agreement);
            store.putSecret(KEYS, text + " " + text(signing.getPrivate()) + " " + text(agreement.getPrivate()));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("Android has P-256 since its first version", impossible);
        }
    }

    /** Removes the keys after the session: the next session needs others. */
    static void end(Store store) throws PushClientException {
        store.putSecret(KEYS, null);
        try {
            KeyStore keystore = keystore();
            keystore.deleteEntry(SIGNING);
            keystore.deleteEntry(AGREEMENT);
        } catch (GeneralSecurityException | IOException unavailable) {
            // The keys of the next session replace these.
        }
    }

    /** The keys of this device; null if it has none, or has lost its Keystore's keys. */
    static @Nullable DeviceKeys keys(Store store) throws PushClientException {
        String stored = store.secret(KEYS);
        if (stored == null) return null;
        String[] parts = stored.split(" ");
        try {
            return new DeviceKeys(parts[0], privateKey(SIGNING, parts[1]), privateKey(AGREEMENT, parts[2]));
        } catch (GeneralSecurityException | IOException | UnreadablePayloadException lost) {
            return null;
        }
    }

    /**
     * Lets clients with these options give the keys to the server, and ask for payloads. First
     * completes a sign-in or sign-out after which the app had no time to make or remove the keys.
     *
     * @param account the account that is signed in, {@link PushClient#accountId}
     */
    static Options options(Options options, Store store, @Nullable String account) throws PushClientException {
        String stored = store.secret(KEYS);
        // Keys of this account stay, even if the Keystore cannot read them now.
        if (account == null || stored == null || !stored.contains("." + account + ".")) {
            if (stored != null) end(store);
            begin(store, account);
        }
        DeviceKeys keys = keys(store);
        return keys == null ? options : options.deviceKey(keys.key());
    }

    /** The text of a clear payload; null with a sender key, since the server could have written it. */
    static @Nullable String clearText(NotificationItem item) {
        return SENDERS.isEmpty() ? item.text() : null;
    }

    /** The text of a notification; null if the app shows its placeholder. */
    static @Nullable String text(PushClient client, Store store, NotificationItem item) throws PushClientException {
        return texts(client, store, Collections.singletonList(item)).get(0);
    }

    /** The texts of notifications. One commit of the store has the ids of all their messages. */
    static List<String> texts(PushClient client, Store store, List<NotificationItem> items) throws PushClientException {
        List<String> texts = new ArrayList<>();
        DeviceKeys keys = SENDERS.isEmpty() ? null : keys(store);
        if (keys == null) {
            for (NotificationItem item : items) texts.add(clearText(item));
            return texts;
        }
        for (OpenedPayload.Result result : client.openPayloads(items, keys, SENDERS)) {
            try {
                texts.add(result.get().payload().string());
            } catch (UnreadablePayloadException unreadable) {
                // A clear payload is unreadable, too.
                texts.add(null);
            }
        }
        return texts;
    }

    /** Gives the keys of this device to the server again, after somebody has replaced them there. */
    static void setDeviceKey(PushClient client, Store store) throws PushClientException {
        DeviceKeys keys = keys(store);
        if (keys != null) client.devices().setDeviceKey(keys.key().text());
    }

    /**
     * A new key pair: in the Keystore from level 31 on. Lower levels, and devices whose Keystore
     * fails, keep the private key in the encrypted store.
     */
    private static KeyPair pair(String alias) throws GeneralSecurityException {
        ECGenParameterSpec curve = new ECGenParameterSpec("secp256r1");
        if (Build.VERSION.SDK_INT >= 31) {
            boolean isSigning = alias.equals(SIGNING);
            int purpose = isSigning ? KeyProperties.PURPOSE_SIGN : KeyProperties.PURPOSE_AGREE_KEY;
            KeyGenParameterSpec.Builder key = new KeyGenParameterSpec.Builder(alias, purpose).setAlgorithmParameterSpec(curve);
            if (isSigning) key.setDigests(KeyProperties.DIGEST_SHA256);
            try {
                KeyPairGenerator generator = KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, "AndroidKeyStore");
                generator.initialize(key.build());
                return generator.generateKeyPair();
            } catch (GeneralSecurityException | ProviderException unusable) {
                // The store takes the key.
            }
        }
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(curve);
        return generator.generateKeyPair();
    }

    private static String text(PrivateKey key) {
        byte[] encoded = key.getEncoded();
        return encoded == null ? IN_KEYSTORE : new BigInteger(encoded).toString(36);
    }

    private static KeyStore keystore() throws GeneralSecurityException, IOException {
        KeyStore keystore = KeyStore.getInstance("AndroidKeyStore");
        keystore.load(null);
        return keystore;
    }

    private static PrivateKey privateKey(String alias, String text) throws GeneralSecurityException, IOException {
        if (text.equals(IN_KEYSTORE)) {
            PrivateKey key = (PrivateKey) keystore().getKey(alias, null);
            if (key == null) throw new UnrecoverableKeyException(alias);
            return key;
        }
        byte[] encoded = new BigInteger(text, 36).toByteArray();
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(encoded));
    }
}
