package sealpost.client;

import androidx.annotation.Nullable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/**
 * Stores the verified state of clients: encrypted files in one folder, which has a folder for each
 * account.
 *
 * <p>Two processes may use one folder at the same time, without a lock, and either may be killed
 * at any moment. The client fetches lost or damaged state again, except for the tasks of an
 * outbox.
 */
public final class Store {
    private static final String KEYS = "keys";
    private static final String KEYS_PLACE = "sealpost keys 1";
    private static final String SECRETS = "secrets";

    private static final int KEY_ATTEMPTS = 3;

    /** For each store's folder, the lock of registrations in this process. */
    private static final Map<File, ReentrantLock> REGISTRATIONS = new HashMap<>();

    /** For each store's folder, the lock of sign-outs in this process. */
    private static final Map<File, ReentrantLock> SIGN_OUTS = new HashMap<>();

    private final File folder;
    private final KeyProvider provider;
    private @Nullable Sealer sealer;
    private byte[] nameKey = {};

    /**
     * @param folder a folder of this store alone, in the app's private storage and excluded from
     *     backup
     * @param key an AES key of 256 bits, such as one in the Android Keystore; each process uses it
     *     once, at its start. If the key is lost, the stored state is unreadable: the next start
     *     removes it.
     */
    public Store(File folder, final SecretKey key) {
        this(folder, new KeyProvider() {
            @Override
            public SecretKey key(@Nullable Exception failure) {
                return key;
            }
        });
        Objects.requireNonNull(key, "key");
    }

    /**
     * @param folder a folder of this store alone, in the app's private storage and excluded from
     * backup
     * @param provider provides the key, such as from the Android Keystore
     */
    public Store(File folder, KeyProvider provider) {
        this.folder = Objects.requireNonNull(folder, "folder");
        this.provider = Objects.requireNonNull(provider, "provider");
    }

    /**
     * Removes everything from this store: inboxes, registrations, tokens, outboxes, secrets and
     * pending sign-outs.
     *
     * <p>Call this for a store that throws {@link PushClientException.Reason#STORAGE} although the
     * disk has room. Afterwards create new clients; the old clients throw {@link
     * PushClientException.Reason#SIGNED_OUT}. If the store had the keys for end-to-end encryption,
     * nobody can open the messages for these keys again. The device gets new keys after the next
     * sign-in.
     */
    public synchronized void reset() throws PushClientException {
        sealer = null;
        for (String name : Files.names(folder)) Files.remove(new File(folder, name));
        if (Files.names(folder).length > 0) throw storage(new IOException("a file of the store cannot be deleted"));
    }

    /** The lock that a client holds while it registers, so that the next one sees its id. */
    ReentrantLock registration() {
        return lock(REGISTRATIONS);
    }

    /** The lock that a client holds while it carries out, or changes, the orders of sign-outs. */
    ReentrantLock signOuts() {
        return lock(SIGN_OUTS);
    }

    private ReentrantLock lock(Map<File, ReentrantLock> locks) {
        synchronized (locks) {
            ReentrantLock lock = locks.get(folder);
            if (lock == null) locks.put(folder, lock = new ReentrantLock());
            return lock;
        }
    }

    /** The folder of an account. Without the store's key nobody can guess the folder's name. */
    File account(String name) throws PushClientException {
        prepare();
        return new File(folder, "a-" + Files.hexadecimal(Arrays.copyOf(mac(name), 16)));
    }

    /** Whether the store has anything: all its files are encrypted with keys that it makes first. */
    boolean isUsed() {
        return new File(folder, KEYS).exists();
    }

    File folder() throws PushClientException {
        prepare();
        return folder;
    }

    Sealer sealer() throws PushClientException {
        return prepare();
    }

    /**
     * Reads the keys of the files, which are encrypted with the app's key; creates the keys if
     * they are missing.
     */
    private synchronized Sealer prepare() throws PushClientException {
        if (sealer != null) return sealer;
        try {
            if (!folder.isDirectory() && !folder.mkdirs() && !folder.isDirectory()) throw new IOException("no folder");
            // Every file of the store is encrypted, because an app may back up all of its files by
            // mistake, and a user may have a file manager.
            Files.sweep(folder, System.currentTimeMillis());
        } catch (IOException error) {
            throw storage(error);
        }
        Exception failure = null;
        for (int attempt = 0; attempt < KEY_ATTEMPTS; attempt++) {
            try {
                byte[] keys = keys(new Sealer(provider.key(failure)));
                nameKey = Arrays.copyOfRange(keys, 32, 64);
                return sealer = new Sealer(new SecretKeySpec(keys, 0, 32, "AES"));
            } catch (Exception error) {
                // The provider is the app's code, and keystores throw undocumented exceptions.
                failure = error;
            }
        }
        throw storage(failure);
    }

    private byte[] keys(Sealer outer) throws GeneralSecurityException, IOException {
        for (int attempt = 0; attempt < 10; attempt++) {
            byte[] keys = readKeys(outer);
            if (keys != null) return keys;
        }
        throw new IOException("the encryption keys cannot be created");
    }

    private @Nullable byte[] readKeys(Sealer outer) throws GeneralSecurityException, IOException {
        File place = new File(folder, KEYS);
        byte[] sealed;
        try {
            sealed = Files.read(new File(place, KEYS));
        } catch (FileNotFoundException none) {
            File made = Files.makeFolder(folder);
            Files.write(new File(made, KEYS), outer.seal(Files.random(64), KEYS_PLACE));
            if (!Files.claim(made, place)) Files.remove(made);
            return null;
        }
        byte[] keys = outer.open(sealed, KEYS_PLACE);
        if (keys == null) {
            // The app's key was lost, so all files here are unreadable.
            for (String name : Files.names(folder)) {
                if (!name.startsWith(Files.MADE)) Files.remove(new File(folder, name));
            }
        }
        return keys;
    }

    /**
     * Stores a short secret of the app, such as the token of FCM for this device; null removes it.
     *
     * <p>Signing out does not remove it. {@link PushClient#signIn(String, String)} stores the
     * token of a session, which signing out removes.
     */
    public void putSecret(String name, @Nullable String secret) throws PushClientException {
        File file = secretFile(name);
        try {
            if (secret == null) {
                file.delete();
                return;
            }
            File parent = file.getParentFile();
            if (!parent.mkdir() && !parent.isDirectory()) throw new IOException("a folder of the store cannot be created");
            File made = new File(parent, "." + Files.hexadecimal(Files.random(8)));
            Files.write(made, sealer().seal(secret.getBytes(StandardCharsets.UTF_8), SECRETS + name));
            if (!made.renameTo(file)) throw new IOException("a file of the store cannot be renamed");
        } catch (GeneralSecurityException | IOException error) {
            throw storage(error);
        }
    }

    /** The secret with this name; null if there is none. */
    public @Nullable String secret(String name) throws PushClientException {
        try {
            byte[] secret = sealer().open(Files.read(secretFile(name)), SECRETS + name);
            return secret == null ? null : new String(secret, StandardCharsets.UTF_8);
        } catch (FileNotFoundException none) {
            return null;
        } catch (GeneralSecurityException | IOException error) {
            throw storage(error);
        }
    }

    private File secretFile(String name) throws PushClientException {
        return new File(new File(folder(), SECRETS), Files.hexadecimal(Arrays.copyOf(mac(SECRETS + name), 16)));
    }

    byte[] mac(String text) throws PushClientException {
        prepare();
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(nameKey, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException error) {
            throw storage(error);
        }
    }

    static PushClientException storage(@Nullable Exception error) {
        return PushClientException.of(PushClientException.Reason.STORAGE, "the store cannot be used: " + error, error);
    }
}
