package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.List;

/**
 * The account's devices and their topics, for screens such as "your devices". {@link
 * PushClient#register} registers this device. Calls for this device throw {@link
 * PushClientException.Reason#NOT_REGISTERED} before it, and {@link
 * PushClientException.Reason#SIGNED_OUT} if nobody is signed in.
 */
public final class Devices {
    private final PushClient client;

    Devices(PushClient client) {
        this.client = client;
    }

    /**
     * The account's devices. A device that another account has registered since stays in this list
     * for 30 days.
     */
    public List<Device> list() throws PushClientException {
        return list(client.options.deadline());
    }

    List<Device> list(Deadline deadline) throws PushClientException {
        Answer answer = client.api.call(new Request("GET", Paths.REGISTER), deadline);
        String own = client.account.read().index.registration;
        if (answer.json == null || answer.json.kind() != Json.Kind.ARRAY) throw answer.unexpected("a list of devices");
        List<Device> devices = new ArrayList<>();
        for (Json element : answer.json.elements()) {
            Device device = Device.read(element, own);
            if (device == null) throw answer.unexpected("a list of devices");
            devices.add(device);
        }
        return devices;
    }

    /**
     * Ends the registration of a device of the account: the device gets no more pushes. A second
     * call for the same device does nothing.
     *
     * <p>The device keeps its session, so it can still fetch, and register again: on this device,
     * {@link PushClient#registerIfNeeded} does so. For a lost phone, also end its session or set
     * another password, and let backends distrust its end-to-end keys: docs/security.md, "A
     * malicious server".
     */
    public void endDevice(final Device device) throws PushClientException {
        try {
            client.api.call(new Request("DELETE", Paths.registration(device.id())), client.options.deadline());
        } catch (PushClientException error) {
            if (!error.isGone()) throw error;
        }
        client.account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                if (device.id().equals(draft.index.registration)) draft.index.registration = null;
                return null;
            }
        });
    }

    /**
     * Lets this device join a topic.
     *
     * <p>The next registration replaces all topics of the device. So also add the topic to the
     * tags of {@link PushClient#registerIfNeeded}.
     *
     * @throws IllegalArgumentException if no path can have the topic: it is empty, {@code .} or
     *     {@code ..}, or has a slash, a backslash, a percent sign or a control character
     */
    public void joinTopic(String topic) throws PushClientException {
        Paths.checkTopic(topic);
        client.api.call(new Request("PUT", Paths.topic(own(), topic)), client.options.deadline());
    }

    /**
     * Lets this device leave a topic.
     *
     * @throws IllegalArgumentException as {@link #joinTopic} does
     */
    public void leaveTopic(String topic) throws PushClientException {
        Paths.checkTopic(topic);
        client.api.call(new Request("DELETE", Paths.topic(own(), topic)), client.options.deadline());
    }

    /**
     * Whether the server's list of devices has a registration. If the list has the registration
     * without this device's public keys, the call gives them to the server. It also replaces other
     * keys of the account if {@code isNew}: the device had them before it lost its data.
     */
    boolean isListed(String registration, boolean isNew, Deadline deadline) throws PushClientException {
        for (Device device : list(deadline)) {
            if (!device.id().equals(registration) || device.isRetired()) continue;
            DeviceKey own = client.options.deviceKey();
            if (own != null) compare(own, device, isNew, deadline);
            return true;
        }
        return false;
    }

    private void compare(DeviceKey own, Device device, boolean isNew, Deadline deadline) throws PushClientException {
        DeviceKey listed = device.publicKeys();
        // Approvals by other devices stay.
        if (listed != null && listed.id().equals(own.id())) return;
        // Senders refuse keys of another account, so those cannot replace this device's keys.
        if (!isNew && listed != null && listed.account().equals(own.account())) throw PushClientException.keyReplaced();
        setKey(device.id(), own.text(), deadline);
    }

    /**
     * Gives this device's public keys, the text of {@link DeviceKeys#text}, to the server, in place
     * of all keys that the server lists for this device. With {@link Options#deviceKey}, an app needs
     * this call only after {@link PushClientException.Reason#KEY_REPLACED}.
     */
    public void setDeviceKey(String text) throws PushClientException {
        setKey(own(), text, client.options.deadline());
    }

    /**
     * Gives the approved keys of another device of the account to the server: the result of {@link
     * DeviceKeys#approve}.
     */
    public void setDeviceKey(Device device, String approved) throws PushClientException {
        setKey(device.id(), approved, client.options.deadline());
    }

    private void setKey(String id, String text, Deadline deadline) throws PushClientException {
        Request request = new Request("PUT", Paths.key(id));
        request.body = Json.object().with("Key", Json.of(text));
        client.api.call(request, deadline);
    }

    /** Sends a test push to this device, and waits for the provider's answer. */
    public TestPush testPush() throws PushClientException {
        Request request = new Request("POST", Paths.test(own()));
        request.isRepeatable = false;
        Answer answer = client.api.call(request, client.options.deadline());
        String state = answer.json == null ? null : Device.text(answer.json, "State");
        if (state == null) throw answer.unexpected("the outcome of a test push");
        return new TestPush(state, Device.text(answer.json, "Reason"));
    }

    /**
     * Returns the code that the server has pushed to the handle of a webhook, so that the server
     * registers the handle. If the code is wrong or has expired, the call throws the problem
     * {@code confirmation-refused}.
     */
    public void confirmHandle(String code) throws PushClientException {
        Request request = new Request("POST", Paths.confirmation(own()));
        request.body = Json.of(code);
        client.api.call(request, client.options.deadline());
    }

    private String own() throws PushClientException {
        String id = client.account.read().index.registration;
        if (id != null) return id;
        client.api.requireCredential(client.options.deadline());
        throw PushClientException.notRegistered();
    }

    /** The provider's answer to a test push. */
    public static final class TestPush {
        private final String state;
        private final @Nullable String reason;

        /** Creates an answer, for tests. */
        public TestPush(String state, @Nullable String reason) {
            this.state = state;
            this.reason = reason;
        }

        /** {@code accepted}, {@code queued} or {@code failed}. */
        public String state() {
            return state;
        }

        /** The provider's reason for the state, in the provider's words; null if it gave none. */
        public @Nullable String reason() {
            return reason;
        }

        @Override
        public String toString() {
            return reason == null ? state : state + ": " + reason;
        }
    }
}
