package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A registered device of the account. */
public final class Device {
    private final String id;
    private final @Nullable String platform;
    private final @Nullable String handle;
    private final List<String> topics;
    private final boolean isThisDevice;
    private final boolean isRetired;
    private final @Nullable String key;

    /**
     * Creates a device, for tests.
     *
     * @throws IllegalArgumentException unless the id has 1 to 128 characters of {@code a-z A-Z 0-9 -
     *     _ .}; {@code .} and {@code ..} are no ids
     */
    public Device(
            String id,
            @Nullable String platform,
            @Nullable String handle,
            List<String> topics,
            boolean isThisDevice,
            boolean isRetired) {
        this(id, platform, handle, topics, isThisDevice, isRetired, null);
    }

    private Device(
            String id,
            @Nullable String platform,
            @Nullable String handle,
            List<String> topics,
            boolean isThisDevice,
            boolean isRetired,
            @Nullable String key) {
        if (!isId(id)) throw new IllegalArgumentException("the id of a device is not 1 to 128 letters, digits, -, _ or .");
        this.id = id;
        this.platform = platform;
        this.handle = handle;
        this.topics = Collections.unmodifiableList(new ArrayList<>(topics));
        this.isThisDevice = isThisDevice;
        this.isRetired = isRetired;
        this.key = key;
    }

    /** Reads a device; null if the value is no device. */
    static @Nullable Device read(Json json, @Nullable String own) {
        String id = text(json, "Id");
        if (id == null || !isId(id)) return null;
        List<String> topics = new ArrayList<>();
        Json list = json.get("Tags");
        for (Json tag : list == null ? Collections.<Json>emptyList() : list.elements()) {
            if (tag.string() != null) topics.add(tag.string());
        }
        boolean isRetired = text(json, "RetiredAt") != null;
        return new Device(id, text(json, "Platform"), text(json, "Handle"), topics, id.equals(own), isRetired, text(json, "Key"));
    }

    /** Whether a text can be the id of a registration, and thus a part of paths. */
    static boolean isId(String text) {
        return text.matches("[A-Za-z0-9_.-]{1,128}") && !text.equals(".") && !text.equals("..");
    }

    static @Nullable String text(Json json, String name) {
        Json member = json.get(name);
        return member == null ? null : member.string();
    }

    /** The id of the device's registration. */
    public String id() {
        return id;
    }

    public @Nullable String platform() {
        return platform;
    }

    /** The device's handle, which the server has masked. */
    public @Nullable String handle() {
        return handle;
    }

    /** The topics that the device has joined, in lower case, and its user's tag {@code username:…}. */
    public List<String> topics() {
        return topics;
    }

    /**
     * The text of the device's public keys for end-to-end encryption, for {@link DeviceKey}; null
     * if the device has none.
     */
    public @Nullable String key() {
        return key;
    }

    /** The device's public keys; null if it has none that can be read. */
    @Nullable DeviceKey publicKeys() {
        try {
            return key == null ? null : new DeviceKey(key);
        } catch (UnreadablePayloadException unreadable) {
            return null;
        }
    }

    /** Whether this client runs on the device. */
    public boolean isThisDevice() {
        return isThisDevice;
    }

    /** Whether another account has registered the device's handle since. */
    public boolean isRetired() {
        return isRetired;
    }
}
