package sealpost.backend;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Encrypts the payloads of one sender for devices, so that the server cannot read the payloads.
 *
 * <p>docs/end-to-end.md has the format and the remaining risks. Several threads may share an
 * object.
 */
public final class Encryption {
    /** The maximum number of devices of a payload. */
    public static final int MAXIMUM_DEVICES = 1000;

    /**
     * The maximum number of levels of nesting of a payload. It is the server's limit, so that all
     * clients can read a payload.
     */
    private static final int MAXIMUM_LEVELS = 62;

    /**
     * The maximum number of bytes of a payload's JSON text. Encrypted for one device, a longer text
     * exceeds the server's default {@code notifications.maxPayload}, since the next size class
     * does.
     */
    public static final int MAXIMUM_PAYLOAD = 45_055;

    private static final String VERSION = "sealpost-e2e.1.1";
    private static final String DEFAULT_APP = "default";
    /**
     * How long the context of a device is reused, in nanoseconds: a new context costs a key
     * agreement. After half of this time, each payload renews up to {@code EARLY_RENEWALS}
     * contexts, so that no payload must renew all of them.
     */
    private static final long CONTEXT_LIFETIME = 3_600_000_000_000L;

    static final int EARLY_RENEWALS = 20;
    /**
     * How often {@code prepare} encrypts for each device: the JVM compiles code only after it has
     * run often.
     */
    private static final int PRACTICE = 10;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final SenderKey key;
    private final Pins pins;
    private final Consumer<List<KeyChange>> changed;
    private final int maximumPayload;
    /** Held while pins change, until the change is reported: no other thread may send before. */
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Context> contexts = new ConcurrentHashMap<>();
    /** The agreements of the sender's key with the devices' keys, by the ids of devices. */
    private final Map<String, byte[]> shared = new ConcurrentHashMap<>();
    /** The time in nanoseconds; tests change it. */
    LongSupplier clock = System::nanoTime;

    private static final class Context {
        final long madeAt;
        final byte[] encapsulated;
        final Hpke hpke;

        Context(long madeAt, byte[] encapsulated, Hpke hpke) {
            this.madeAt = madeAt;
            this.encapsulated = encapsulated;
            this.hpke = hpke;
        }
    }

    /**
     * @param changed is called with the changes of keys before anything is sent, for example to
     * store the pins and to tell somebody; if it throws, nothing is sent, and the next call reports
     * the changes again; if it ends after the deadline, the call throws {@code Unreachable}, and
     * nothing is sent either
     */
    public Encryption(SenderKey key, Pins pins, Consumer<List<KeyChange>> changed) {
        this(key, pins, changed, MAXIMUM_PAYLOAD);
    }

    /**
     * For a server whose {@code notifications.maxPayload} is not the default.
     *
     * @param maximumPayload the maximum number of bytes of a payload's JSON text; docs/end-to-end.md
     * has its value for each {@code notifications.maxPayload}
     */
    public Encryption(SenderKey key, Pins pins, Consumer<List<KeyChange>> changed, int maximumPayload) {
        this.key = Objects.requireNonNull(key, "key");
        this.pins = Objects.requireNonNull(pins, "pins");
        this.changed = Objects.requireNonNull(changed, "changed");
        if (maximumPayload < 1) throw new IllegalArgumentException("maximumPayload: give a number of bytes above 0");
        this.maximumPayload = maximumPayload;
    }

    /** Sends a notification to the trusted devices of its recipients, as {@link Client#send} does. */
    public Sent send(Client client, Notification notification) {
        return send(client, notification, UUID.randomUUID().toString());
    }

    /**
     * Sends a notification with an idempotency key that you choose.
     *
     * <p>All attempts of the call post the same text. A repeated call encrypts again, so the server
     * refuses the same key as {@code idempotency-key-reused}. To repeat a call after a restart,
     * store the {@link Notification#payload() payload} of {@link #encrypted}, and send that with
     * {@link Client#send(Notification, String)} and the key. If you use each key for one
     * notification only, you can also treat the refusal as success: an earlier call with the key
     * was stored. The client's deadline is for the requests of the keys and the post together.
     */
    public Sent send(Client client, Notification notification, String key) {
        Client.visible("key", key);
        Client limited = client.forOneCall();
        try {
            return limited.send(encrypted(limited, notification), key);
        } catch (SealpostException error) {
            throw error.withKey(key);
        }
    }

    /**
     * The notification with its payload encrypted for the trusted devices of its recipients.
     *
     * @throws NoTrustedDevice if no device of the recipients is trusted
     */
    public Notification encrypted(Client client, Notification notification) {
        // The notification names its app, since the payload is bound to the app's name. Otherwise
        // the server would use the caller's only app, which may be another app.
        String app = notification.app() == null ? DEFAULT_APP : notification.app();
        byte[] plain = plain(notification.payload());
        Client limited = client.forOneCall();
        List<DeviceRecipient> recipients = recipients(limited, notification.to(), app);
        return notification.app(app).payload(encrypt(plain, recipients, app, limited::checkEnd));
    }

    /**
     * Makes the key agreements for recipients ahead, and encrypts for practice, so that the JVM
     * compiles the code. If you call it at the start and then every half an hour, no payload waits
     * for this.
     *
     * @param to the tag expressions of the recipients
     * @param app the name of the notifications' app; {@code default} if the server sends for one
     * app only
     * @throws NoTrustedDevice if no device of the recipients is trusted
     */
    public void prepare(Client client, Collection<String> to, String app) {
        Client limited = client.forOneCall();
        byte[] plain = plain(Json.of(""));
        recipients(limited, to, app).parallelStream().forEach(recipient -> {
            for (int count = 0; count < PRACTICE; count++) encrypt(plain, List.of(recipient), app, limited::checkEnd);
        });
    }

    private List<DeviceRecipient> recipients(Client limited, Collection<String> to, String app) {
        if (Objects.requireNonNull(to, "to").isEmpty()) {
            throw new IllegalArgumentException("to: name the recipients, since a payload is encrypted for their devices");
        }
        for (String expression : to) Objects.requireNonNull(expression, "to");
        List<DeviceRecipient> recipients = new ArrayList<>();
        List<KeyChange> changes = new ArrayList<>();
        Map<String, List<UserKeys>> lists = new LinkedHashMap<>();
        for (String expression : to) lists.put(expression, limited.deviceKeys(expression, app));
        lock(limited);
        try {
            try {
                lists.forEach((expression, users) -> check(expression, users, recipients, changes, limited::checkEnd));
                if (!changes.isEmpty()) changed.accept(new ArrayList<>(changes));
            } catch (Throwable error) {
                pins.undo(changes);
                throw error;
            }
            // `changed`, or another thread while it ran, may have distrusted devices.
            pins.removeDistrusted(recipients);
        } finally {
            lock.unlock();
        }
        if (recipients.isEmpty()) throw new NoTrustedDevice(changes);
        // `changed` may have taken all the time, too.
        limited.checkEnd();
        return recipients;
    }

    /** Waits until no other call changes pins. Throws if the client's time for the call ends first. */
    private void lock(Client limited) {
        try {
            while (!lock.tryLock(limited.left(), TimeUnit.NANOSECONDS)) continue;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new Unreachable("the thread was interrupted", false, error);
        }
    }

    /** Adds the trusted devices of an expression's users, and the changes of their keys. */
    private void check(
            String expression, List<UserKeys> users, List<DeviceRecipient> recipients, List<KeyChange> changes, Runnable checkEnd) {
        String name = Notification.nameIn(expression);
        // The server lists no users without devices, so only those that are named can be reported.
        if (users.isEmpty() && name != null) changes.add(new KeyChange(name, KeyChange.Kind.SKIPPED, null, null));
        for (UserKeys user : users) {
            Pins.Checked checked = pins.check(user.name, user.account, user.keys, checkEnd);
            recipients.addAll(checked.recipients);
            changes.addAll(checked.changes);
            if (checked.recipients.isEmpty()) changes.add(new KeyChange(user.name, KeyChange.Kind.SKIPPED, null, null));
        }
    }

    /**
     * Encrypts a payload for up to 1,000 devices; returns a text. A server that sends for one app
     * calls it {@code default}.
     */
    public String encrypt(Json payload, Collection<DeviceRecipient> recipients, String app) {
        return encrypt(plain(payload), recipients, Objects.requireNonNull(app, "app"), () -> {});
    }

    /** {@code checkEnd} is called for each device, since each may need a key agreement. */
    private String encrypt(byte[] plain, Collection<DeviceRecipient> recipients, String app, Runnable checkEnd) {
        long now = System.currentTimeMillis() / 1000;
        return encrypt(plain, recipients, app, random(), now, random(), id -> SenderKey.pair(), checkEnd);
    }

    /** The JSON of a payload. Throws for a payload that no device could get. */
    private byte[] plain(Json payload) {
        if (payload.kind() == Json.Kind.NULL) throw new IllegalArgumentException("payload: give a value of JSON other than null");
        if (!fits(payload, MAXIMUM_LEVELS)) {
            throw new IllegalArgumentException("the payload has more than " + MAXIMUM_LEVELS + " levels of nesting");
        }
        byte[] plain = payload.bytes();
        if (plain.length > maximumPayload) {
            throw new IllegalArgumentException("the payload has " + plain.length
                    + " bytes of JSON text; an end-to-end payload has at most " + maximumPayload);
        }
        return plain;
    }

    /** Whether a value has at most so many levels of nesting. */
    private static boolean fits(Json value, int levels) {
        if (value.kind() != Json.Kind.ARRAY && value.kind() != Json.Kind.OBJECT) return true;
        return levels > 0 && value.elements().stream().allMatch(inner -> fits(inner, levels - 1));
    }

    String encrypt(
            byte[] plain,
            Collection<DeviceRecipient> recipients,
            String app,
            byte[] message,
            long now,
            byte[] content,
            Function<String, KeyPair> ephemeral,
            Runnable checkEnd) {
        Map<String, DeviceKey> keys = new TreeMap<>();
        for (DeviceRecipient recipient : recipients) keys.put(recipient.key.id(), recipient.key);
        if (keys.isEmpty() || keys.size() > MAXIMUM_DEVICES) {
            throw new IllegalArgumentException("an end-to-end payload is for 1 to " + MAXIMUM_DEVICES + " devices, not "
                    + keys.size() + ": send to fewer users at once");
        }
        String header = VERSION + "." + key.id() + "." + Base64.url(message) + "." + now;
        String front = header + "." + Base64.url(seal(content, padded(plain), header));
        byte[] digest = Hashes.sha256(DeviceKey.bytes(front));
        AtomicInteger early = new AtomicInteger(EARLY_RENEWALS);
        String entries = keys.values().parallelStream()
                .map(device -> {
                    checkEnd.run();
                    Context context = context(device, app, ephemeral, early);
                    byte[] wrapped = seal(exported(context.hpke, digest), content, "");
                    return device.id() + Base64.url(P256.join(context.encapsulated, wrapped));
                })
                .collect(Collectors.joining());
        return front + "." + entries;
    }

    /** The context of a device. {@code early} is the number of contexts that may be renewed before their end. */
    private Context context(DeviceKey device, String app, Function<String, KeyPair> ephemeral, AtomicInteger early) {
        String name = device.id() + app;
        long now = clock.getAsLong();
        Context found = contexts.get(name);
        long age = found == null ? Long.MAX_VALUE : now - found.madeAt;
        if (age <= CONTEXT_LIFETIME / 2 || age <= CONTEXT_LIFETIME && early.getAndDecrement() <= 0) return found;
        KeyPair pair = ephemeral.apply(device.id());
        byte[] encapsulated = P256.point(pair.getPublic());
        byte[] information = DeviceKey.bytes(VERSION + "\n" + device.account() + "\n" + app);
        try {
            byte[] agreed = shared.get(device.id());
            if (agreed == null) agreed = Hpke.agree(key.key, device.agreement);
            Hpke hpke = Hpke.sender(pair.getPrivate(), encapsulated, agreed, key.point, device.agreement, information);
            if (contexts.size() >= 10 * MAXIMUM_DEVICES) {
                contexts.clear();
                shared.clear();
            }
            shared.put(device.id(), agreed);
            Context context = new Context(now, encapsulated, hpke);
            contexts.put(name, context);
            return context;
        } catch (GeneralSecurityException missing) {
            throw lacking(missing);
        }
    }

    private static byte[] exported(Hpke hpke, byte[] digest) {
        try {
            return hpke.export(digest, 16);
        } catch (GeneralSecurityException missing) {
            throw lacking(missing);
        }
    }

    /** The nonce is all zeros, since each key encrypts only one text. */
    private static byte[] seal(byte[] key, byte[] plain, String header) {
        try {
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new GCMParameterSpec(128, new byte[12]));
            cipher.updateAAD(DeviceKey.bytes(header));
            return cipher.doFinal(plain);
        } catch (GeneralSecurityException missing) {
            throw lacking(missing);
        }
    }

    private static IllegalStateException lacking(GeneralSecurityException error) {
        return new IllegalStateException("the platform lacks P-256, HMAC-SHA-256 or AES-GCM", error);
    }

    /**
     * Pads a text as ISO/IEC 7816-4 does: to a power of two from 256 to 4096 bytes, or, if it is
     * longer, to a multiple of 4096.
     */
    static byte[] padded(byte[] plain) {
        int length = plain.length + 1;
        int size = length > 4096 ? (length + 4095) / 4096 * 4096 : Math.max(256, Integer.highestOneBit(length - 1 | 1) * 2);
        byte[] padded = Arrays.copyOf(plain, size);
        padded[plain.length] = (byte) 128;
        return padded;
    }

    private static byte[] random() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return bytes;
    }
}
