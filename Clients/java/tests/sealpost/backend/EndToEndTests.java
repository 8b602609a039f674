package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;
import static sealpost.backend.Tests.that;

import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPrivateKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;

/** End-to-end encryption, with docs/evidence/vectors/end-to-end.json. */
final class EndToEndTests {
    private static final Json VECTORS = vectors();
    private static final String ACCOUNT = "A".repeat(22);
    private static final SenderKey SENDER = SenderKey.generate();

    private static Json vectors() {
        try {
            return Json.read(Files.readAllBytes(Path.of(System.getenv("SEALPOST_VECTORS"), "end-to-end.json")));
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static List<Json> list(Json object, String name) {
        return object.get(name).elements();
    }

    private static String text(Json object, String name) {
        return object.get(name).string();
    }

    private static byte[] hex(Json object, String name) {
        String text = text(object, name);
        byte[] bytes = new byte[text.length() / 2];
        for (int index = 0; index < bytes.length; index++) {
            bytes[index] = (byte) Integer.parseInt(text.substring(2 * index, 2 * index + 2), 16);
        }
        return bytes;
    }

    private static PrivateKey privateKey(byte[] number) throws Exception {
        ECParameterSpec curve = ((ECPrivateKey) SenderKey.pair().getPrivate()).getParams();
        return KeyFactory.getInstance("EC").generatePrivate(new ECPrivateKeySpec(new BigInteger(1, number), curve));
    }

    private static List<DeviceKey> keys(Json ids) throws Exception {
        List<DeviceKey> keys = new ArrayList<>();
        for (Json device : list(VECTORS, "devices")) {
            if (ids.elements().contains(device.get("id"))) keys.add(new DeviceKey(text(device, "key")));
        }
        return keys;
    }

    static List<DeviceRecipient> recipients(List<DeviceKey> keys) {
        List<DeviceRecipient> recipients = new ArrayList<>();
        for (DeviceKey key : keys) recipients.add(new DeviceRecipient("alice", key));
        return recipients;
    }

    public static void contextsAreThoseOfTheRfcAtBothEnds() throws Exception {
        Json rfc = VECTORS.get("hpke");
        byte[] enc = hex(rfc, "enc");
        byte[] recipient = hex(rfc, "recipientPublic");
        byte[] sender = hex(rfc, "senderPublic");
        byte[] info = hex(rfc, "info");
        byte[] shared = Hpke.agree(privateKey(hex(rfc, "sender")), recipient);
        List<Hpke> ends = List.of(
                Hpke.sender(privateKey(hex(rfc, "ephemeral")), enc, shared, sender, recipient, info),
                Hpke.receiver(enc, privateKey(hex(rfc, "recipient")), recipient, sender, info));
        for (Json export : list(rfc, "exports")) {
            for (Hpke end : ends) equal(Base64.url(end.export(hex(export, "context"), 32)), Base64.url(hex(export, "value")));
        }
    }

    /** With the constant keys of the program that made the vectors. */
    public static void payloadsAreThoseOfTheVectors() throws Exception {
        Json sender = VECTORS.get("sender");
        BigInteger number = new BigInteger(1, Base64.fromUrl(text(sender, "private")));
        Encryption encryption = new Encryption(SenderKey.of(number, Base64.fromUrl(text(sender, "public"))), new Pins(), changes -> {});
        for (Json vector : list(VECTORS, "payloads")) {
            List<DeviceKey> keys = keys(vector.get("devices"));
            Map<String, KeyPair> ephemeral = new HashMap<>();
            List<String> entries = List.of(text(vector, "payload").split("\\.")[7].split("(?<=\\G.{152})"));
            for (String entry : entries) {
                int at = entries.indexOf(entry) + 1;
                byte[] secret = Hashes.sha256(("sealpost test ephemeral " + at).getBytes());
                byte[] point = Arrays.copyOf(Base64.fromUrl(entry.substring(22)), 65);
                PrivateKey key = privateKey(new BigInteger(1, secret).shiftRight(1).toByteArray());
                ephemeral.put(entry.substring(0, 22), new KeyPair(P256.key(point), key));
            }
            byte[] message = Base64.fromUrl(text(vector, "message"));
            byte[] content = Base64.fromUrl(text(vector, "contentKey"));
            String made = encryption.encrypt(
                    text(vector, "plain").getBytes("UTF-8"), recipients(keys), text(vector, "app"), message,
                    VECTORS.get("now").integer(), content, ephemeral::get, () -> {});
            equal(made, text(vector, "payload"));
        }
    }

    public static void pinsFollowTheHistoriesAlsoAfterEachRestart() throws Exception {
        for (Json history : list(VECTORS, "histories")) {
            Pins pins = new Pins();
            pins.trust("bob", new DeviceKey(text(VECTORS.get("devices").get("bob"), "key")));
            for (Json step : list(history, "steps")) {
                pins = new Pins(pins.values(), true);
                List<String> keys = new ArrayList<>();
                for (Json key : list(step, "keys")) keys.add(key.string());
                Pins.Checked checked = pins.check("Alice", text(step, "account"), keys, () -> {});
                TreeSet<String> trusted = new TreeSet<>();
                for (DeviceRecipient recipient : checked.recipients) trusted.add(recipient.key.id());
                TreeSet<String> expected = new TreeSet<>();
                for (Json id : list(step, "trusted")) expected.add(id.string());
                equal(trusted, expected, text(history, "name"));
                List<String> changes = new ArrayList<>();
                for (KeyChange change : checked.changes) {
                    changes.add(change.kind.name().toLowerCase() + " " + (change.key == null ? "" : change.key));
                }
                List<String> wanted = new ArrayList<>();
                for (Json change : list(step, "changes")) {
                    wanted.add(change.elements().get(0).string() + " " + change.elements().get(1).string());
                }
                Collections.sort(changes);
                Collections.sort(wanted);
                equal(changes, wanted, text(history, "name"));
            }
        }
    }

    public static void deviceKeysHaveTheirFingerprints() throws Exception {
        for (Json device : list(VECTORS, "devices")) {
            DeviceKey key = new DeviceKey(text(device, "key"));
            equal(key.fingerprint() + key.id() + key.account(), text(device, "fingerprint") + text(device, "id") + text(device, "account"));
        }
    }

    /** The key of a new device. */
    static DeviceKey device(String account, long time) throws Exception {
        KeyPair signing = SenderKey.pair();
        String points = Base64.url(P256.point(signing.getPublic())) + "." + Base64.url(P256.point(SenderKey.pair().getPublic()));
        String body = "sealpost-key.1." + account + "." + points + "." + time;
        Signature signer = Signature.getInstance("SHA256withECDSA");
        signer.initSign(signing.getPrivate());
        signer.update(DeviceKey.signed("own", body));
        return new DeviceKey(body + "." + Base64.url(P256.fromDer(signer.sign())) + ".");
    }

    private static String shown(DeviceKey key) {
        return key.id() + " (" + key.fingerprint() + ")";
    }

    private static Script.Step keys(String name, DeviceKey... keys) {
        StringBuilder list = new StringBuilder("{\"Key\":null}");
        for (DeviceKey key : keys) list.append(",{\"Key\":\"").append(key.text()).append("\"}");
        String user = "{\"Name\":\"" + name + "\",\"Account\":\"" + ACCOUNT + "\",\"Devices\":[" + list + "]}";
        return request -> request.answer(200, "{\"Users\":[" + user + "]}");
    }

    public static void onlyTrustedDevicesGetThePayloadAndChangesComeFirst() throws Exception {
        DeviceKey phone = device(ACCOUNT, 1000);
        DeviceKey stranger = device(ACCOUNT, 2000);
        List<String> seen = new ArrayList<>();
        try (Script script = new Script(
                keys("alice", phone), Script.Seen::sent, keys("alice", phone, stranger), Script.Seen::sent)) {
            Encryption encryption = new Encryption(SENDER, new Pins(), changes -> seen.add(changes + " " + script.requests.size()));
            for (String payload : List.of("one", "two")) {
                encryption.send(script.client(), Notification.of(payload).to(Notification.user("alice")));
                Json body = Json.read(script.requests.get(script.requests.size() - 1).body.getBytes());
                equal(text(body, "App"), "default");
                String[] parts = text(body, "Payload").split("\\.");
                equal(parts[0] + parts[2] + parts[3] + parts[7].length(), "sealpost-e2e1" + SENDER.id() + 152);
                that(parts[7].startsWith(phone.id()), parts[7]);
            }
            equal(seen, List.of("[alice: first " + shown(phone) + "] 1", "[alice: unapproved " + shown(stranger) + "] 3"));
            equal(script.requests.get(0).line, "GET /api/keys?to=username%3Aalice&app=default HTTP/1.1");
        }
    }

    public static void nothingIsSentWithoutATrustedDeviceOrIfTheCallerObjects() throws Exception {
        DeviceKey phone = device(ACCOUNT, 1000);
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        try (Script script = new Script(keys("alice", phone), keys("alice", phone), keys("mallory", phone), keys("\u017Fam", phone))) {
            Client client = script.client();
            Encryption careful = new Encryption(SENDER, new Pins(false), changes -> {});
            NoTrustedDevice error = fails(NoTrustedDevice.class, () -> careful.send(client, notification));
            equal(error.getMessage(), "there is no trusted device: [alice: unapproved " + shown(phone) + ", alice: skipped]");
            Encryption objecting = new Encryption(SENDER, new Pins(), changes -> {
                throw new IllegalStateException("no");
            });
            fails(IllegalStateException.class, () -> objecting.send(client, notification));
            // Keys of another user are refused, also of a user whose name differs only by a long s.
            for (String name : List.of("alice", "sam")) {
                Notification other = notification.to(Notification.user(name));
                equal(fails(Interference.class, () -> objecting.send(client, other)).kind, "unexpectedBody");
            }
            equal(script.requests.size(), 4);
        }
    }

    /** The server reads each of these expressions as one user. */
    public static void eachSpellingOfOneUserGetsNobodyElsesKeys() throws Exception {
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        Script.Step mallory = keys("mallory", device(ACCOUNT, 1000));
        for (String to : List.of("username:alice", "USERNAME:Alice", " username:alice ", "(username:alice)", " ( (Username:ALICE ) ) ")) {
            try (Script script = new Script(mallory, keys("alice"))) {
                Client client = script.client().within(Duration.ofSeconds(10));
                Notification notification = Notification.of("x").to(to);
                equal(fails(Interference.class, () -> encryption.send(client, notification)).kind, "unexpectedBody", to);
                that(fails(NoTrustedDevice.class, () -> encryption.send(client, notification)).getMessage().contains("skipped"), to);
                equal(script.requests.size(), 2);
            }
        }
        for (String to : List.of("username:alice || news", "!username:alice", "(username:alice) && (username:bob)", "u\u017Fername:alice", "username:a:b", "\tusername:alice")) {
            equal(Notification.nameIn(to), null, to);
        }
    }

    public static void payloadsThatNoDeviceCouldReadAreRefusedBeforeARequest() throws Exception {
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        List<DeviceRecipient> recipients = recipients(List.of(device(ACCOUNT, 1000)));
        Json deep = Json.of("x");
        for (int level = 0; level < 62; level++) deep = level % 2 == 0 ? Json.object().with("a", deep) : Json.array(List.of(deep));
        encryption.encrypt(deep, recipients, "default");
        equal(encryption.encrypt(Json.of("x".repeat(45_053)), recipients, "default").length(), 60_323);
        fails(IllegalArgumentException.class, () -> Json.of("\ud800"));
        fails(IllegalArgumentException.class, () -> Json.object().with("\udfff", Json.of("x")));
        Json large = Json.of("é".repeat(22_527));
        new Encryption(SENDER, new Pins(), changes -> {}, 45_056).encrypt(large, recipients, "default");
        Json none = Json.read("null".getBytes());
        List<Json> unreadable = List.of(none, large, Json.array(List.of(deep)), Json.object().with("a", deep));
        try (Script script = new Script()) {
            for (Json payload : unreadable) {
                fails(IllegalArgumentException.class, () -> encryption.encrypt(payload, recipients, "default"));
                Notification notification = Notification.of(payload).to(Notification.user("alice"));
                fails(IllegalArgumentException.class, () -> encryption.send(script.client(), notification));
            }
            equal(script.requests.size(), 0);
        }
    }

    public static void impossibleArgumentsAreRefusedBeforeARequest() throws Exception {
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        Notification notification = Notification.of("x");
        for (int maximum : List.of(0, -1)) {
            fails(IllegalArgumentException.class, () -> new Encryption(SENDER, new Pins(), changes -> {}, maximum));
        }
        try (Script script = new Script()) {
            Client client = script.client();
            fails(IllegalArgumentException.class, () -> encryption.send(client, notification));
            fails(IllegalArgumentException.class, () -> encryption.prepare(client, List.of(), "default"));
            for (List<String> to : Arrays.asList(null, Arrays.asList("news", null))) {
                equal(fails(NullPointerException.class, () -> encryption.prepare(client, to, "default")).getMessage(), "to");
            }
            fails(IllegalArgumentException.class, () -> encryption.send(client, notification.to("news"), "a b"));
            equal(script.requests.size(), 0);
        }
    }

    public static void theRequestsForKeysAndThePostHaveOneDeadline() throws Exception {
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        Script.Step keys = keys("alice", device(ACCOUNT, 1000));
        try (Script script = new Script(keys, keys, keys)) {
            // The report ends after the deadline, so the post has no time.
            Supplier<Encryption> late = () -> new Encryption(SENDER, new Pins(), changes -> {
                long end = System.nanoTime() + 300_000_000;
                while (System.nanoTime() < end) Thread.onSpinWait();
            });
            Client client = script.builder().deadline(Duration.ofMillis(300)).build();
            equal(fails(Unreachable.class, () -> late.get().send(client, notification, "k")).idempotencyKey(), "k");
            fails(Unreachable.class, () -> late.get().encrypted(client, notification));
            fails(Unreachable.class, () -> late.get().prepare(client, notification.to(), "default"));
            equal(script.requests.size(), 3);
        }
    }

    public static void theDeadlineAlsoEndsTheRequestsForKeys() throws Exception {
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        Script.Step hanging = request -> new Script.Reply(new byte[0], new byte[0], false);
        try (Script script = new Script(hanging, hanging, hanging)) {
            Client client = script.builder().deadline(Duration.ofMillis(50)).build();
            equal(fails(Unreachable.class, () -> encryption.send(client, notification, "k")).idempotencyKey(), "k");
            equal(fails(Unreachable.class, () -> encryption.send(client, notification)).idempotencyKey().length(), 36);
            equal(fails(Unreachable.class, () -> encryption.encrypted(client, notification)).idempotencyKey(), null);
            that(script.requests.size() <= 3, "each call has one request");
        }
    }

    public static void theDeadlineEndsTheCheckOfALongList() throws Exception {
        String[] parts = device(ACCOUNT, 1000).text().split("\\.", -1);
        StringBuilder list = new StringBuilder("{\"Key\":null}");
        for (int number = 0; number < 5000; number++) {
            parts[5] = Integer.toString(number); // The signature is verified, and is wrong.
            list.append(",{\"Key\":\"").append(String.join(".", parts)).append("\"}");
        }
        String user = "{\"Name\":\"alice\",\"Account\":\"" + ACCOUNT + "\",\"Devices\":[" + list + "]}";
        try (Script script = new Script(request -> request.answer(200, "{\"Users\":[" + user + "]}"))) {
            List<KeyChange> seen = new ArrayList<>();
            Encryption encryption = new Encryption(SENDER, new Pins(), seen::addAll);
            Client client = script.builder().deadline(Duration.ofMillis(500)).build();
            fails(Unreachable.class, () -> encryption.send(client, Notification.of("x").to(Notification.user("alice"))));
            equal(seen.size(), 0);
        }
    }

    public static void theDeadlineEndsTheEncryptionForManyDevices() throws Exception {
        Pins pins = new Pins();
        DeviceKey[] devices = new DeviceKey[70];
        for (int number = 0; number < devices.length; number++) pins.trust("alice", devices[number] = device(ACCOUNT, number));
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        Script.Step keys = keys("alice", devices);
        try (Script script = new Script(keys, keys)) {
            Client client = script.builder().deadline(Duration.ofMillis(500)).build();
            for (boolean isPrepared : List.of(false, true)) {
                Encryption encryption = new Encryption(SENDER, pins, changes -> {});
                long end = System.nanoTime() + 600_000_000;
                // The first key agreements take until the deadline.
                encryption.clock = () -> {
                    while (System.nanoTime() < end) Thread.onSpinWait();
                    return end;
                };
                fails(Unreachable.class, () -> {
                    if (isPrepared) encryption.prepare(client, notification.to(), "default");
                    else encryption.encrypted(client, notification);
                });
            }
        }
    }

    public static void pinsAreAsBeforeIfACheckOfManyKeysEnds() throws Exception {
        Json devices = VECTORS.get("devices");
        String account = text(devices.get("phone"), "account");
        List<String> keys = List.of(text(devices.get("phone"), "key"), text(devices.get("tablet"), "key"));
        Pins whole = new Pins();
        String found = whole.check("alice", account, keys, () -> {}).changes.toString();
        // The check ends at the verification of a key, or at the look at the tablet's approvals.
        for (int last = 0; last < 3; last++) {
            Pins pins = new Pins();
            AtomicInteger left = new AtomicInteger(last);
            Runnable end = () -> {
                if (left.getAndDecrement() == 0) throw new IllegalStateException("the time is over");
            };
            fails(IllegalStateException.class, () -> pins.check("alice", account, keys, end));
            equal(pins.values(), "{}", last + " keys");
            equal(pins.check("alice", account, keys, () -> {}).changes.toString(), found);
            equal(pins.values(), whole.values());
        }
    }

    public static void changesWhoseReportHasFailedAreReportedAgain() throws Exception {
        DeviceKey phone = device(ACCOUNT, 1000);
        DeviceKey tablet = device(ACCOUNT, 2000);
        Pins pins = new Pins();
        List<String> seen = new ArrayList<>();
        boolean[] fails = {true};
        Encryption encryption = new Encryption(SENDER, pins, changes -> {
            for (KeyChange change : changes) seen.add(change.kind.name());
            that(pins.values().contains(phone.id()), "the pins of the change can be stored here");
            if (fails[0]) throw new IllegalStateException("no");
        });
        Notification notification = Notification.of("x").to(Notification.user("Alice"));
        DeviceKey[][] lists = {{phone}, {phone, tablet}, {tablet}, {phone, tablet}};
        List<String> kinds = List.of("FIRST", "UNAPPROVED", "MISSING", "RETURNED");
        for (int step = 0; step < lists.length; step++) {
            if (step == 2) pins.trust("Alice", tablet);
            Script.Step keys = keys("Alice", lists[step]);
            String before = pins.values();
            try (Script script = new Script(keys, keys, keys, Script.Seen::sent)) {
                fails[0] = true;
                for (int count = 0; count < 2; count++) {
                    fails(IllegalStateException.class, () -> encryption.send(script.client(), notification));
                }
                equal(pins.values(), before);
                fails[0] = false;
                encryption.send(script.client(), notification);
            }
            equal(seen, Collections.nCopies(3, kinds.get(step)));
            seen.clear();
        }
    }

    public static void noThreadSendsBeforeAnotherHasReportedItsChanges() throws Exception {
        Script.Step keys = keys("alice", device(ACCOUNT, 1000));
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        Script.Step sent = request -> {
            order.add("sent");
            return request.sent();
        };
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        try (Script script = new Script(keys, keys, sent, sent)) {
            Encryption[] encryption = new Encryption[1];
            Thread other = new Thread(() -> encryption[0].send(script.client(), notification));
            encryption[0] = new Encryption(SENDER, new Pins(), changes -> {
                other.start();
                join(other, 500);
                order.add("reported");
            });
            encryption[0].send(script.client(), notification);
            other.join();
            equal(order, List.of("reported", "sent", "sent"));
        }
    }

    public static void aCallEndsAtItsDeadlineWhileAnotherReports() throws Exception {
        List<String> reports = Collections.synchronizedList(new ArrayList<>());
        List<String> ends = Collections.synchronizedList(new ArrayList<>());
        Notification toBob = Notification.of("x").to(Notification.user("bob"));
        Script.Step bob = keys("bob", device(ACCOUNT, 2000));
        try (Script script = new Script(keys("alice", device(ACCOUNT, 1000)), bob, bob, bob, Script.Seen::sent)) {
            Encryption[] encryption = new Encryption[1];
            Client limited = script.builder().deadline(Duration.ofMillis(300)).build();
            List<Tests.Body> calls = List.of(
                    () -> encryption[0].send(limited, toBob),
                    () -> encryption[0].encrypted(limited, toBob),
                    () -> encryption[0].prepare(limited, toBob.to(), "default"));
            Thread other = new Thread(() -> {
                for (Tests.Body call : calls) {
                    try {
                        ends.add(fails(Unreachable.class, call).getMessage());
                    } catch (Throwable error) {
                        ends.add(error.toString());
                    }
                }
            });
            encryption[0] = new Encryption(SENDER, new Pins(), changes -> {
                reports.add(changes.get(0).user);
                if (other.getState() != Thread.State.NEW) return;
                other.start();
                join(other, 60_000);
                reports.add("all calls have ended: " + ends.size());
            });
            encryption[0].send(script.client(), Notification.of("x").to(Notification.user("alice")));
            equal(reports, List.of("alice", "all calls have ended: 3"));
            equal(ends, Collections.nCopies(3, "the deadline has passed"));
        }
    }

    public static void anInterruptionEndsACallThatWaitsForAnothersReport() throws Exception {
        List<String> ends = Collections.synchronizedList(new ArrayList<>());
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        Script.Step keys = keys("alice", device(ACCOUNT, 1000));
        try (Script script = new Script(keys, keys, Script.Seen::sent)) {
            Encryption[] encryption = new Encryption[1];
            Thread other = new Thread(() -> {
                try {
                    fails(Unreachable.class, () -> encryption[0].send(script.client(), notification));
                    ends.add("interrupted " + Thread.interrupted());
                } catch (Throwable error) {
                    ends.add(error.toString());
                }
            });
            encryption[0] = new Encryption(SENDER, new Pins(), changes -> {
                other.start();
                for (String stack = ""; !stack.contains("recipients") || stack.contains("deviceKeys"); Thread.onSpinWait()) {
                    stack = Arrays.toString(other.getStackTrace());
                }
                other.interrupt();
                join(other, 60_000);
                ends.add("reported");
            });
            encryption[0].send(script.client(), notification);
            equal(ends, List.of("interrupted true", "reported"));
        }
    }

    public static void usersWhoGetNothingAreReportedBeforeTheOthersGetIt() throws Exception {
        Script.Step nobody = request -> request.answer(200, "{\"Users\":[]}");
        List<Script.Step> steps = new ArrayList<>();
        DeviceKey phone = device(ACCOUNT, 1000);
        for (int count = 0; count < 2; count++) { // No pin ends the report.
            steps.addAll(List.of(keys("alice", phone), nobody, keys("carol"), nobody, Script.Seen::sent));
        }
        steps.add(nobody);
        List<String> seen = new ArrayList<>();
        try (Script script = new Script(steps.toArray(new Script.Step[0]))) {
            Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {
                for (KeyChange change : changes) seen.add(change.user + " " + change.kind + " " + script.requests.size());
            });
            Notification all = Notification.of("x").to("username:alice", "username:bob", "username:carol", "role:nurse");
            for (int count = 0; count < 2; count++) encryption.send(script.client(), all);
            equal(seen, List.of("alice FIRST 4", "bob SKIPPED 4", "carol SKIPPED 4", "bob SKIPPED 9", "carol SKIPPED 9"));
            Notification one = all.to("username:bob");
            NoTrustedDevice error = fails(NoTrustedDevice.class, () -> encryption.send(script.client(), one));
            equal(error.getMessage(), "there is no trusted device: [bob: skipped]");
        }
    }

    public static void aLostDeviceGetsNothingWhateverIsListed() throws Exception {
        DeviceKey phone = device(ACCOUNT, 1000);
        DeviceKey tablet = device(ACCOUNT, 2000);
        Pins pins = new Pins();
        pins.check("alice", ACCOUNT, List.of(phone.text()), () -> {});
        pins.trust("alice", tablet);
        pins.distrust("Alice", phone.id());
        for (List<String> keys : List.of(List.of(tablet.text()), List.of(phone.text(), tablet.text()))) {
            Pins.Checked checked = pins.check("alice", ACCOUNT, keys, () -> {});
            equal(checked.recipients.size() + checked.recipients.get(0).key.id() + checked.changes, 1 + tablet.id() + "[]");
        }
        fails(IllegalArgumentException.class, () -> pins.trust("alice", device("B".repeat(22), 1)));
        fails(IllegalArgumentException.class, () -> pins.distrust("bob", phone.id()));
        fails(IllegalArgumentException.class, () -> pins.distrust("alice", phone.text()));
        pins.forget("ALICE");
        equal(pins.values(), "{}");
    }

    public static void aDeviceThatIsDistrustedDuringTheReportGetsNothing() throws Exception {
        DeviceKey phone = device(ACCOUNT, 1000);
        DeviceKey tablet = device(ACCOUNT, 2000);
        Notification notification = Notification.of("x").to(Notification.user("alice"));
        DeviceKey further = device("B".repeat(22), 3000); // Makes each call report a change.
        Script.Step reported = keys("alice", phone, tablet, further);
        for (boolean isOtherThread : List.of(false, true)) {
            Pins pins = new Pins();
            pins.trust("alice", phone);
            pins.trust("alice", tablet);
            List<DeviceKey> lost = new ArrayList<>(List.of(tablet, phone));
            Encryption encryption = new Encryption(SENDER, pins, changes -> {
                Runnable distrust = () -> pins.distrust("Alice", lost.remove(0).id());
                if (!isOtherThread) {
                    distrust.run();
                    return;
                }
                Thread other = new Thread(distrust);
                other.start();
                while (other.isAlive()) Thread.onSpinWait();
            });
            try (Script script = new Script(reported, Script.Seen::sent, reported)) {
                encryption.send(script.client(), notification);
                String[] parts = text(Json.read(script.requests.get(1).body.getBytes()), "Payload").split("\\.");
                equal(parts[7].substring(0, 22) + parts[7].length(), phone.id() + 152);
                fails(NoTrustedDevice.class, () -> encryption.send(script.client(), notification));
                equal(script.requests.size(), 3);
            }
        }
    }

    public static void aLostDeviceThatWasNotSeenGetsNothing() throws Exception {
        Json phone = VECTORS.get("devices").get("phone");
        Json tablet = VECTORS.get("devices").get("tablet");
        List<String> keys = List.of(text(phone, "key"), text(tablet, "key"));
        Pins pins = new Pins();
        pins.trust("alice", new DeviceKey(keys.get(0)));
        pins.distrust("Alice", text(tablet, "id"));
        pins = new Pins(pins.values(), true);
        Pins.Checked checked = pins.check("alice", text(phone, "account"), keys, () -> {});
        equal(checked.recipients.size() + checked.recipients.get(0).key.id() + checked.changes, 1 + text(phone, "id") + "[]");
        pins.trust("alice", new DeviceKey(keys.get(1)));
        equal(pins.check("alice", text(phone, "account"), keys, () -> {}).recipients.size(), 2);
    }

    /** Lies about keys that no history has. */
    public static void threeLiesGetNothing() throws Exception {
        Json phone = VECTORS.get("devices").get("phone");
        String account = text(phone, "account");
        String key = text(phone, "key");
        String tablet = text(VECTORS.get("devices").get("tablet"), "key");
        String mallory = text(VECTORS.get("devices").get("mallory"), "key");
        Map<String, Function<Pins, Pins.Checked>> lies = Map.of(
                "[INVALID, MISSING]", // Half a character.
                pins -> pins.check("alice", account, List.of(key.replace(account, "\ud800" + "A".repeat(21))), () -> {}),
                "[MISSING, UNAPPROVED]", // The user a second time.
                pins -> pins.check("ALICE", account, List.of(mallory), () -> {}),
                "[UNAPPROVED]", // An approval of a lost device.
                pins -> {
                    pins.distrust("alice", text(phone, "id"));
                    return pins.check("alice", account, List.of(key, tablet), () -> {});
                });
        for (Map.Entry<String, Function<Pins, Pins.Checked>> lie : lies.entrySet()) {
            Pins pins = new Pins();
            pins.check("alice", account, List.of(key), () -> {});
            Pins.Checked checked = lie.getValue().apply(pins);
            TreeSet<String> kinds = new TreeSet<>();
            for (KeyChange change : checked.changes) kinds.add(change.kind.name());
            equal(checked.recipients.size() + kinds.toString(), 0 + lie.getKey());
        }
    }

    public static void malformedPinsAreRefused() throws Exception {
        for (String json : List.of("", "[]", "{\"a\":7}", "{\"a\":{\"account\":\"x\",\"keys\":{\"k\":{\"signing\":\"x\",\"state\":\"trusted\"}}}}")) {
            fails(IllegalArgumentException.class, () -> new Pins(json, true));
        }
        Pins pins = new Pins();
        pins.trust("alice", device(ACCOUNT, 1000));
        String stored = pins.values();
        equal(new Pins(stored, true).values(), stored);
        fails(IllegalArgumentException.class, () -> new Pins(stored.replace("\"trusted\"", "\"yes\""), true));
    }

    public static void aSendersKeySurvivesAsPem() throws Exception {
        for (int count = 0; count < 50; count++) {
            SenderKey key = SenderKey.generate();
            SenderKey read = SenderKey.read("\n" + key.pem().replace("\n", "\r\n"));
            equal(read.id() + read.text() + read.pem(), key.id() + key.text() + key.pem());
        }
        SenderKey other = SenderKey.generate();
        String mixed = SENDER.pem().substring(0, 90) + other.pem().substring(90);
        for (String pem : List.of("", "x", SENDER.pem().substring(1), SENDER.pem().replace("MIG", "MIH"), mixed)) {
            fails(IllegalArgumentException.class, () -> SenderKey.read(pem));
        }
    }

    public static void lengthsFallIntoClasses() {
        int[][] classes = {{0, 256}, {255, 256}, {256, 512}, {4095, 4096}, {4096, 8192}, {8191, 8192}, {8192, 12288}};
        for (int[] one : classes) equal(Encryption.padded(new byte[one[0]]).length, one[1]);
    }

    public static void anEnvelopeAdds192BytesToThePaddedPayload() throws Exception {
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        List<DeviceRecipient> devices = recipients(List.of(device(ACCOUNT, 1), device(ACCOUNT, 2), device(ACCOUNT, 3)));
        int[][] lengths = {{2, 256}, {255, 256}, {256, 512}, {1023, 1024}, {4095, 4096}, {4096, 8192}, {45_055, 45_056}};
        for (int[] one : lengths) {
            Json payload = Json.of("x".repeat(one[0] - 2));
            for (int further = 0; further < 3; further++) {
                String text = encryption.encrypt(payload, devices.subList(0, further + 1), "default");
                equal(text.length(), (one[1] * 4 + 2) / 3 + 248 + 152 * further);
            }
            String text = encryption.encrypt(payload, devices.subList(0, 1), "default");
            String[] parts = text.split("\\.");
            int bytes = text.length();
            for (String part : List.of(parts[3], parts[4], parts[6], parts[7].substring(0, 22), parts[7].substring(22))) {
                bytes += java.util.Base64.getUrlDecoder().decode(part).length - part.length();
            }
            equal(bytes, one[1] + 192);
        }
    }

    public static void contextsAreRenewedAFewAtATimeOrAhead() throws Exception {
        List<DeviceKey> keys = new ArrayList<>();
        Pins pins = new Pins();
        for (int number = 0; number < Encryption.EARLY_RENEWALS + 5; number++) {
            keys.add(device(ACCOUNT, number));
            pins.trust("alice", keys.get(number));
        }
        long minute = 60_000_000_000L;
        long[] now = {0};
        Encryption encryption = new Encryption(SENDER, pins, changes -> {});
        encryption.clock = () -> now[0];
        TreeSet<String> known = new TreeSet<>();
        // The minute of each payload, and the number of contexts that it makes.
        for (int[] step : new int[][] {{0, 25}, {30, 0}, {31, 20}, {32, 5}, {33, 0}, {91, 20}, {92, 5}, {153, 25}, {184, 0}}) {
            now[0] = step[0] * minute;
            if (step[0] == 184) {
                try (Script script = new Script(keys("alice", keys.toArray(new DeviceKey[0])))) {
                    encryption.prepare(script.client(), List.of(Notification.user("alice")), "default");
                }
                known.addAll(encapsulated(encryption, keys));
            }
            int before = known.size();
            known.addAll(encapsulated(encryption, keys));
            equal(known.size() - before, step[1], step[0] + " minutes");
        }
        equal(known.size(), 125);
    }

    /** The encapsulated keys of a payload for these devices. */
    private static List<String> encapsulated(Encryption encryption, List<DeviceKey> keys) {
        String text = encryption.encrypt(Json.of("x"), recipients(keys), "default");
        List<String> found = new ArrayList<>();
        for (String entry : text.split("\\.")[7].split("(?<=\\G.{152})")) found.add(entry.substring(22, 22 + 80));
        return found;
    }

    public static void theContextsOfDevicesAreReusedAndPayloadsDiffer() throws Exception {
        List<DeviceRecipient> devices = recipients(List.of(device(ACCOUNT, 1), device(ACCOUNT, 2)));
        Encryption encryption = new Encryption(SENDER, new Pins(), changes -> {});
        String[] first = encryption.encrypt(Json.of("x"), devices, "default").split("\\.");
        String[] second = encryption.encrypt(Json.of("x"), devices, "default").split("\\.");
        equal(first[7].substring(0, 22 + 80), second[7].substring(0, 22 + 80));
        that(!first[4].equals(second[4]) && !first[6].equals(second[6]), "each payload has a message and a key of its own");
        fails(IllegalArgumentException.class, () -> encryption.encrypt(Json.of("x"), List.of(), "default"));
    }

    /** Waits in the app's {@code changed}, which may throw no checked exception. */
    private static void join(Thread thread, long milliseconds) {
        try {
            thread.join(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
