package sealpost.backend;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import sealpost.backend.KeyChange.Kind;

/**
 * The device keys that this backend has seen.
 *
 * <p>Store {@link #values} after each call that has reported changes, and after {@link #trust},
 * {@link #distrust} and {@link #forget}. Several threads may share an object.
 */
public final class Pins {
    private static final String TRUSTED = "trusted";
    private static final String MISSING = "missing";
    private static final String DISTRUSTED = "distrusted";
    private static final Set<String> STATES = Set.of(TRUSTED, MISSING, DISTRUSTED);

    private static final class Pin {
        final byte[] signing;
        String state;

        Pin(byte[] signing, String state) {
            this.signing = signing;
            this.state = state;
        }
    }

    private static final class Account {
        final String id;
        final Map<String, Pin> keys = new LinkedHashMap<>();

        Account(String id) {
            this.id = id;
        }
    }

    /** The devices that may be trusted, and the changes since the last check. */
    static final class Checked {
        final List<DeviceRecipient> recipients = new ArrayList<>();
        final List<KeyChange> changes = new ArrayList<>();
    }

    private final Map<String, Account> users = new LinkedHashMap<>();
    /**
     * The keys that were read before, by their texts: the verification of a key takes a
     * millisecond.
     */
    private final Map<String, DeviceKey> read = new HashMap<>();
    private final boolean trustsFirstContact;

    /** Starts without pins. The first contact with each user is trusted. */
    public Pins() {
        this(true);
    }

    /**
     * Starts without pins. If {@code trustsFirstContact} is false, nothing is encrypted for a new
     * user before a call of {@link #trust}.
     */
    public Pins(boolean trustsFirstContact) {
        this.trustsFirstContact = trustsFirstContact;
    }

    /**
     * Reads the JSON that {@link #values} of this library, or of the library for another language,
     * has returned.
     *
     * @throws IllegalArgumentException for another text
     */
    public Pins(String values, boolean trustsFirstContact) {
        this(trustsFirstContact);
        try {
            members(Json.read(Objects.requireNonNull(values, "values").getBytes(StandardCharsets.UTF_8))).forEach((user, value) -> {
                Account account = new Account(new Members(value).text("account"));
                members(new Members(value).value("keys")).forEach((id, pin) -> {
                    byte[] signing = DeviceKey.point(new Members(pin).text("signing"));
                    String state = new Members(pin).text("state");
                    if (signing == null || !STATES.contains(state)) throw new Malformed("a key of " + user + " is malformed");
                    account.keys.put(id, new Pin(signing, state));
                });
                users.put(user, account);
            });
        } catch (JsonException | Malformed error) {
            throw new IllegalArgumentException("the pins are malformed: " + error.getMessage(), error);
        }
    }

    /**
     * The members of an object by their exact names, because two ids may differ only in the case
     * of their letters.
     */
    private static Map<String, Json> members(Json object) {
        if (object.kind() != Json.Kind.OBJECT) throw new Malformed("the value is not an object");
        Map<String, Json> members = new LinkedHashMap<>();
        for (int index = 0; index < object.names().size(); index++) members.put(object.names().get(index), object.elements().get(index));
        return members;
    }

    /** All pins, as JSON for your database. The libraries for Python and Node read it, too. */
    public synchronized String values() {
        Json json = Json.object();
        for (Map.Entry<String, Account> user : users.entrySet()) {
            Json keys = Json.object();
            for (Map.Entry<String, Pin> pin : user.getValue().keys.entrySet()) {
                Json value = Json.object().with("signing", Json.of(Base64.url(pin.getValue().signing)));
                keys = keys.with(pin.getKey(), value.with("state", Json.of(pin.getValue().state)));
            }
            json = json.with(user.getKey(), Json.object().with("account", Json.of(user.getValue().id)).with("keys", keys));
        }
        return json.toString();
    }

    /** Accepts a device after somebody has compared its fingerprint. */
    public synchronized void trust(String user, DeviceKey key) {
        Objects.requireNonNull(key, "key");
        Account account = users.computeIfAbsent(lower(user), name -> new Account(key.account()));
        if (!account.id.equals(key.account())) {
            throw new IllegalArgumentException("the key is of another account than " + user + "'s; forget the user first");
        }
        account.keys.put(key.id(), new Pin(key.signing, TRUSTED));
    }

    /**
     * Ends the encryption for a device, such as a lost phone, even if the server lists it.
     *
     * @param key the id of the device's key, as in a change, also of a device that these pins have
     * not seen
     * @throws IllegalArgumentException for a user without pins, and for another text than an id
     */
    public synchronized void distrust(String user, String key) {
        Account account = users.get(lower(user));
        if (account == null || !key.matches("[-A-Za-z0-9_]{21}[AQgw]")) {
            throw new IllegalArgumentException(user + " has no pins, or " + key + " is no id of a key");
        }
        // Pins need a verification key: that of an unseen device is a key that nobody has.
        account.keys.computeIfAbsent(key, id -> new Pin(SenderKey.generate().point, DISTRUSTED)).state = DISTRUSTED;
    }

    /** Removes the devices that are distrusted now, also those that were trusted in the check. */
    synchronized void removeDistrusted(List<DeviceRecipient> recipients) {
        recipients.removeIf(recipient -> {
            Account account = users.get(lower(recipient.user));
            Pin pin = account == null ? null : account.keys.get(recipient.key.id());
            return pin != null && pin.state.equals(DISTRUSTED);
        });
    }

    /** Forgets a user, for example one who was deleted and created again. */
    public synchronized void forget(String user) {
        users.remove(lower(user));
    }

    /**
     * Compares a user's keys in the server's list with the pins.
     *
     * <p>A key is trusted if it was trusted before, or if a trusted device has approved it. At the
     * first contact the oldest key that nobody has approved is trusted, too.
     *
     * @param checkEnd is called for each key, since a long list takes minutes; if it throws, the
     * pins are as before
     */
    synchronized Checked check(String user, String id, Collection<String> texts, Runnable checkEnd) {
        Checked checked = new Checked();
        Map<String, DeviceKey> keys = new LinkedHashMap<>();
        for (String text : texts) {
            checkEnd.run();
            DeviceKey key = read(text, id);
            if (key == null) checked.changes.add(new KeyChange(user, Kind.INVALID, null, null));
            else keys.put(key.id(), key);
        }
        Account account = users.get(lower(user));
        if (account != null && !account.id.equals(id)) {
            checked.changes.add(new KeyChange(user, Kind.ACCOUNT, null, null));
            return checked;
        }
        if (account == null) {
            account = new Account(id);
            DeviceKey first = trustsFirstContact ? oldest(keys.values()) : null;
            if (first != null) {
                users.put(lower(user), account);
                account.keys.put(first.id(), new Pin(first.signing, TRUSTED));
                checked.changes.add(change(user, Kind.FIRST, first));
            }
        }
        Map<String, Pin> known = account.keys;
        try {
            approve(user, keys.values(), known, checked.changes, checkEnd);
        } catch (RuntimeException error) {
            undo(checked.changes);
            throw error;
        }
        known.forEach((key, pin) -> {
            if (keys.containsKey(key) || !pin.state.equals(TRUSTED)) return;
            pin.state = MISSING;
            checked.changes.add(new KeyChange(user, Kind.MISSING, key, null));
        });
        for (DeviceKey key : keys.values()) {
            Pin pin = known.get(key.id());
            if (pin == null) continue;
            if (pin.state.equals(MISSING)) {
                // A device that returns approves no other device in this list: a stolen device
                // could add devices in this way.
                pin.state = TRUSTED;
                checked.changes.add(change(user, Kind.RETURNED, key));
            }
            if (pin.state.equals(TRUSTED)) checked.recipients.add(new DeviceRecipient(user, key));
        }
        return checked;
    }

    /**
     * Removes the changes of checks, so that the next check finds them again. Newer changes of
     * other calls remain.
     */
    synchronized void undo(List<KeyChange> changes) {
        for (int index = changes.size() - 1; index >= 0; index--) {
            KeyChange change = changes.get(index);
            Account account = users.get(lower(change.user));
            Pin pin = account == null ? null : account.keys.get(change.key);
            if (account == null || pin == null) continue;
            boolean isTrusted = pin.state.equals(TRUSTED);
            if (change.kind == Kind.MISSING && pin.state.equals(MISSING)) pin.state = TRUSTED;
            else if (change.kind == Kind.RETURNED && isTrusted) pin.state = MISSING;
            else if ((change.kind == Kind.FIRST || change.kind == Kind.ADDED) && isTrusted) account.keys.remove(change.key);
            if (account.keys.isEmpty()) users.remove(lower(change.user));
        }
    }

    /** Trusts new keys that trusted devices have approved, and reports all new keys. */
    private static void approve(
            String user, Collection<DeviceKey> keys, Map<String, Pin> known, List<KeyChange> changes, Runnable checkEnd) {
        Map<String, byte[]> trusted = new HashMap<>();
        known.forEach((id, pin) -> {
            if (pin.state.equals(TRUSTED)) trusted.put(id, pin.signing);
        });
        List<DeviceKey> left = new ArrayList<>();
        for (DeviceKey key : keys) if (!known.containsKey(key.id())) left.add(key);
        // A device that was approved in this loop may have approved further devices.
        for (boolean isChanged = true; isChanged; ) {
            isChanged = left.removeIf(key -> {
                checkEnd.run();
                if (trusted.entrySet().stream().noneMatch(one -> key.isApproved(one.getKey(), one.getValue()))) return false;
                trusted.put(key.id(), key.signing);
                known.put(key.id(), new Pin(key.signing, TRUSTED));
                changes.add(change(user, Kind.ADDED, key));
                return true;
            });
        }
        for (DeviceKey key : left) changes.add(change(user, Kind.UNAPPROVED, key));
    }

    private static @Nullable DeviceKey oldest(Collection<DeviceKey> keys) {
        Comparator<DeviceKey> order = Comparator.comparingLong(key -> key.madeAt);
        return keys.stream().filter(key -> !key.hasApprovals()).min(order.thenComparing(DeviceKey::id)).orElse(null);
    }

    private @Nullable DeviceKey read(String text, String account) {
        try {
            DeviceKey key = read.get(text);
            if (key == null) {
                key = new DeviceKey(text);
                if (read.size() >= 10 * Encryption.MAXIMUM_DEVICES) read.clear();
                read.put(text, key);
            }
            return key.account().equals(account) ? key : null;
        } catch (Unreadable unreadable) {
            return null;
        }
    }

    private static KeyChange change(String user, Kind kind, DeviceKey key) {
        return new KeyChange(user, kind, key.id(), key.fingerprint());
    }

    /**
     * The name by which a user is pinned. {@code equalsIgnoreCase} would take more names for equal.
     */
    static String lower(String user) {
        return Objects.requireNonNull(user, "user").toLowerCase(Locale.ROOT);
    }
}
