package sealpost.backend;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * A user with the keys of the user's devices, as the server lists them. {@link Pins} checks the
 * keys.
 */
public final class UserKeys extends Value {
    public final String name;
    public final String account;
    /** The texts of the keys. Devices without end-to-end encryption have no key. */
    public final List<String> keys;

    UserKeys(Json json) {
        super(json);
        Members user = new Members(json);
        name = user.text("Name");
        account = user.text("Account");
        List<String> keys = new ArrayList<>(user.list("Devices", device -> new Members(device).optionalText("Key")));
        keys.removeIf(Objects::isNull);
        this.keys = Collections.unmodifiableList(keys);
    }
}
