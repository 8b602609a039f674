package sealpost.backend;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/** A user with the device keys in the server's list. {@link Pins} checks them. */
public final class UserKeys extends Value {
    public final String name;
    public final String account;
    /** The texts of the keys; devices without end-to-end encryption have none. */
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
