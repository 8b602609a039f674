package sealpost.client;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.Signature;
import java.util.List;
import sealpost.client.UnreadablePayloadException.Reason;

/**
 * The keys of this device for end-to-end encryption: two key pairs of P-256, one for signatures
 * and one for key agreement.
 *
 * <p>From API level 31 on create the key pairs in the Android Keystore, with {@code PURPOSE_SIGN}
 * and {@code PURPOSE_AGREE_KEY}: there no app can read the private keys. Older versions have no
 * key agreement in the Keystore: create both key pairs with {@code KeyPairGenerator}, and protect
 * their encodings like the client's token.
 */
public final class DeviceKeys {
    private final DeviceKey key;
    private final PrivateKey signing;
    private final PrivateKey agreement;

    /**
     * Reads the keys that the app has created at an earlier start.
     *
     * @param text the result of {@link #text}, which the app has stored @throws
     * UnreadablePayloadException if the text is malformed
     */
    public DeviceKeys(String text, PrivateKey signing, PrivateKey agreement) throws UnreadablePayloadException {
        this.key = new DeviceKey(text);
        this.signing = signing;
        this.agreement = agreement;
    }

    /**
     * The text of the public keys of new key pairs. Store the text and the private keys, and set
     * {@link Options#deviceKey} of the account's clients to {@link #key}.
     *
     * @param account the identifier of the account, as {@link Session#account()}
     */
    public static String text(String account, KeyPair signing, KeyPair agreement) throws GeneralSecurityException {
        String points = Base64.url(P256.point(signing.getPublic())) + "." + Base64.url(P256.point(agreement.getPublic()));
        String body = "sealpost-key.1." + account + "." + points + "." + System.currentTimeMillis() / 1000;
        return body + "." + sign(signing.getPrivate(), "own", body) + ".";
    }

    /** The public keys. */
    public DeviceKey key() {
        return key;
    }

    /**
     * The text of another device of the account, with this device's approval added. Before this
     * call, a person must have compared the fingerprint on both screens. After this call, give the
     * text to the server.
     *
     * @throws UnreadablePayloadException if the device belongs to another account
     */
    public String approve(DeviceKey other) throws UnreadablePayloadException, GeneralSecurityException {
        if (!other.account().equals(key.account())) throw new UnreadablePayloadException(Reason.ACCOUNT);
        return other.text() + key.id() + sign(signing, "approve", other.body);
    }

    /**
     * Opens an end-to-end payload. Unlike {@link PushClient#openPayload}, this function does not
     * check whether the message has arrived before.
     *
     * @param payload the payload of the fetched notification
     * @param senders the public keys of the backends that the app trusts, 87 characters each
     * @param app the name of the notification's app; {@code default} if the server sends for one
     * app only
     */
    public OpenedPayload open(String payload, List<String> senders, String app) throws UnreadablePayloadException {
        return open(payload, senders, app, System.currentTimeMillis() / 1000);
    }

    OpenedPayload open(String payload, List<String> senders, String app, long now) throws UnreadablePayloadException {
        return OpenedPayload.open(payload, key, agreement, senders, app, now);
    }

    private static String sign(PrivateKey key, String purpose, String body) throws GeneralSecurityException {
        Signature signer = Signature.getInstance("SHA256withECDSA");
        signer.initSign(key);
        signer.update(DeviceKey.signed(purpose, body));
        return Base64.url(P256.fromDer(signer.sign()));
    }
}
