package example;

import androidx.annotation.Nullable;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Collections;
import java.util.List;
import sealpost.client.*;

final class EndToEnd {
    /** The texts of the backend's sender keys. Without any, nothing is encrypted end to end. */
    static final List<String> SENDERS = Collections.<String>emptyList();
    /** The name under which the store has the keys of this device. */
    private static final String KEYS = "device keys";

    private EndToEnd() {}

    /** Makes the keys of this device for a new session. */
    static void begin(Store store, Session session) throws PushClientException {
        DeviceKeys known = keys(store);
        boolean isKnown = known != null && known.key().account().equals(session.account());
        if (SENDERS.isEmpty() || session.account() == null || isKnown) return;
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            KeyPair signing = generator.generateKeyPair();
            KeyPair agreement = generator.generateKeyPair();
            String text = DeviceKeys.text(session.account(), signing, agreement);
            store.putSecret(KEYS, text + " " + text(signing.getPrivate()) + " " + text(agreement.getPrivate()));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("Android has P-256 since its first version", impossible);
        }
    }

    /** Removes the keys after the session: the next session needs others. */
    static void end(Store store) throws PushClientException {
        store.putSecret(KEYS, null);
    }

    /** The keys of this device; null if it has none. */
    static @Nullable DeviceKeys keys(Store store) throws PushClientException {
        String stored = store.secret(KEYS);
        if (stored == null) return null;
        String[] parts = stored.split(" ");
        try {
            return new DeviceKeys(parts[0], privateKey(parts[1]), privateKey(parts[2]));
        } catch (GeneralSecurityException | UnreadablePayloadException damaged) {
            return null;
        }
    }

    /** Lets clients with these options give the keys to the server, and ask for payloads. */
    static Options options(Options options, Store store) throws PushClientException {
        DeviceKeys keys = keys(store);
        return keys == null ? options : options.deviceKey(keys.key());
    }

    /** The text of a clear payload; null with a sender key, since the server could have written it. */
    static @Nullable String clearText(NotificationItem item) {
        return SENDERS.isEmpty() ? item.text() : null;
    }

    /** The text of a notification; null if the app shows its placeholder. */
    static @Nullable String text(PushClient client, Store store, NotificationItem item) throws PushClientException {
        if (SENDERS.isEmpty()) return item.text();
        DeviceKeys keys = keys(store);
        try {
            // Refuses a clear payload, too.
            return keys == null ? null : client.openPayload(item, keys, SENDERS).payload().string();
        } catch (UnreadablePayloadException unreadable) {
            return null;
        }
    }

    private static String text(PrivateKey key) {
        return new BigInteger(key.getEncoded()).toString(36);
    }

    private static PrivateKey privateKey(String text) throws GeneralSecurityException {
        byte[] encoded = new BigInteger(text, 36).toByteArray();
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(encoded));
    }
}
