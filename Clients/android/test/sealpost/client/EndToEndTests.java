package sealpost.client;

import java.math.BigInteger;
import java.security.AlgorithmParameters;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Security;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPrivateKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import sealpost.client.UnreadablePayloadException.Reason;

/** Opens and refuses end-to-end payloads as {@code docs/evidence/vectors/end-to-end.json} says. */
public final class EndToEndTests {
    private static final Json FILE = Vectors.read("end-to-end");
    private static final List<String> SENDERS = Collections.singletonList(FILE.get("sender").get("public").string());
    private static final long NOW = FILE.get("now").integer();

    private EndToEndTests() {}

    public static void exportsAreThoseOfTheRfc() throws Exception {
        Json hpke = FILE.get("hpke");
        Hpke receiver = Hpke.receiver(
            hex(hpke.get("enc")), privateKey(hex(hpke.get("recipient"))), hex(hpke.get("recipientPublic")), hex(hpke.get("senderPublic")),
            hex(hpke.get("info")));
        for (Json export : hpke.get("exports").elements()) {
            byte[] value = receiver.export(hex(export.get("context")), 32);
            Check.equal(new BigInteger(1, value), new BigInteger(export.get("value").string(), 16), "the exported value");
        }
    }

    public static void eachDeviceOpensThePayloads() throws Exception {
        for (Json vector : FILE.get("payloads").elements()) {
            for (String name : FILE.get("devices").names()) {
                DeviceKeys keys = keys(name);
                if (!vector.get("devices").elements().contains(Json.of(keys.key().id()))) continue;
                OpenedPayload opened = keys.open(vector.get("payload").string(), SENDERS, vector.get("app").string(), NOW);
                Check.equal(opened.payload(), Json.read(DeviceKey.bytes(vector.get("plain").string())), "the payload");
                Check.equal(opened.message(), vector.get("message").string(), "the message");
                Check.equal(opened.sentAt(), NOW, "the time");
            }
        }
    }

    public static void otherPayloadsAreRefusedWithTheirReason() throws Exception {
        DeviceKeys phone = keys("phone");
        for (Json vector : FILE.get("refused").elements()) {
            try {
                phone.open(vector.get("payload").string(), SENDERS, "default", NOW);
            } catch (UnreadablePayloadException refused) {
                Check.equal(refused.reason().word, vector.get("reason").string(), vector.get("name").string());
                continue;
            }
            throw new AssertionError("it was opened: " + vector.get("name").string());
        }
    }

    private static PushClient client(TestFolder folder) {
        Options options = Options.withoutTLS("http://127.0.0.1:1", Signatures.unsigned()).clock(() -> NOW * 1000);
        return new PushClient(options, Credentials.token("spt_x", "alice"), folder.store());
    }

    /**
     * End-to-end payloads are bound to an app, so the client must not leave the choice of the app
     * to the server.
     */
    public static void aClientWithADeviceKeyNamesItAndItsApp() throws Exception {
        Options options = Options.withoutTLS("http://127.0.0.1:1", Signatures.unsigned());
        Check.equal(Sync.request(options, null).target(), "/api/notifications?limit=500", "the request");
        DeviceKey key = keys("phone").key();
        options.deviceKey(key);
        Check.equal(Sync.request(options, null).target(), "/api/notifications?limit=500&app=default&key=" + key.id(), "the request");
        options.app("clinic");
        Check.equal(Sync.request(options, null).target(), "/api/notifications?limit=500&app=clinic&key=" + key.id(), "the request");
    }

    /** The keys that the server lists for the app's devices, after the next start of the app. */
    private static Map<String, String> start(TestServer server, TestFolder folder, String handle) throws Exception {
        PushClient client = new PushClient(
            server.options().deviceKey(keys("phone").key()), Credentials.token("spt_first", "alice"), folder.store());
        for (int call = 0; call < 2; call++) client.registerIfNeeded("fcm", handle, Collections.<String>emptyList());
        return server.deviceKeys;
    }

    public static void theServerGetsTheKeysWhenItLacksThem() throws Exception {
        try (TestServer server = new TestServer(); TestFolder folder = new TestFolder()) {
            Map<String, String> own = Collections.singletonMap("device-1", keys("phone").key().text());
            Check.equal(start(server, folder, "a"), own, "the first keys");
            // Somebody has removed the device at the server.
            server.devices.clear();
            server.deviceKeys.clear();
            Check.equal(start(server, folder, "a"), own, "the keys of the next registration");
            // The server has lost the keys, or lists an unreadable text, or keys of another account.
            String stranger = DeviceKeys.text("BBBBBBBBBBBBBBBBBBBBBB", pair(), pair());
            for (String text : new String[] {null, "?", stranger}) {
                server.deviceKeys.put("device-1", text);
                Check.equal(start(server, folder, "a"), own, "in place of " + text);
            }
            // The approval by another device stays, also if the device registers again.
            String approved = keys("tablet").approve(keys("phone").key());
            server.deviceKeys.put("device-1", approved);
            server.log.clear();
            Check.equal(start(server, folder, "a"), Collections.singletonMap("device-1", approved), "the approved keys");
            Check.equal(server.log, Collections.singletonList("GET /api/register"), "the requests");
            Check.equal(start(server, folder, "b"), Collections.singletonMap("device-1", approved), "the approved keys");
        }
    }

    public static void otherKeysAreReportedUntilTheAppSetsItsOwn() throws Exception {
        try (TestServer server = new TestServer(); TestFolder folder = new TestFolder()) {
            Map<String, String> own = start(server, folder, "a");
            String text = own.get("device-1");
            server.deviceKeys.put("device-1", keys("tablet").key().text());
            for (String handle : new String[] {"a", "a", "b", "b"}) {
                try {
                    start(server, folder, handle);
                    throw new AssertionError("nothing was reported");
                } catch (PushClientException replaced) {
                    Check.equal(replaced.reason(), PushClientException.Reason.KEY_REPLACED, "the reason");
                }
            }
            server.client(folder.store()).devices().setDeviceKey(text);
            Check.equal(start(server, folder, "b"), Collections.singletonMap("device-1", text), "the keys");
        }
    }

    /** After {@link Store#reset} and a new sign-in, the server still lists the keys that the device has lost. */
    public static void theKeysOfANewSignInReplaceTheLostOnesAlsoAfterAFailure() throws Exception {
        try (TestServer server = new TestServer(); TestFolder folder = new TestFolder()) {
            start(server, folder, "a");
            folder.store().reset();
            boolean[] isOffline = {true};
            Options options = server.options().deviceKey(keys("tablet").key()).connections(url -> {
                // The first attempt fails after the registration, and before the keys.
                if (isOffline[0] && url.getPath().endsWith("/key")) throw new java.net.UnknownHostException("no network");
                return (java.net.HttpURLConnection) url.openConnection();
            });
            PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
            Check.fails(
                    () -> client.registerIfNeeded("fcm", "a", Collections.<String>emptyList()), PushClientException.Reason.OFFLINE);
            isOffline[0] = false;
            client.registerIfNeeded("fcm", "a", Collections.<String>emptyList());
            Check.equal(server.deviceKeys, Collections.singletonMap("device-1", keys("tablet").key().text()), "the keys");
        }
    }

    private static NotificationItem item(long id, Json payload) {
        return NotificationItem.of(Json.object().with("Id", Json.of(id)).with("Read", Json.of(false)).with("Payload", payload));
    }

    public static void aMessageUnderAnotherNotificationIsRefusedAlsoAfterARestart() throws Exception {
        for (Json vector : FILE.get("replays").elements()) {
            try (TestFolder folder = new TestFolder()) {
                for (Json step : vector.get("steps").elements()) {
                    NotificationItem item = item(step.get("id").integer(), step.get("payload"));
                    Reason reason = client(folder).openPayloads(Collections.singletonList(item), keys("phone"), SENDERS).get(0).reason();
                    Check.equal(reason == null ? "opened" : reason.word, step.get("verdict").string(), vector.get("name").string());
                }
            }
        }
    }

    public static void theItemsOfAListAreOpenedInTheirOrder() throws Exception {
        Json first = FILE.get("payloads").elements().get(0).get("payload");
        Json second = FILE.get("payloads").elements().get(1).get("payload");
        List<NotificationItem> items = Arrays.asList(item(1, first), item(2, Json.of("clear")), item(3, first), item(4, second));
        Check.that(items.get(0).isEndToEnd() && items.get(0).text() == null, "encrypted text must not be shown");
        Check.that(!items.get(1).isEndToEnd() && "clear".equals(items.get(1).text()), "a clear text");
        try (TestFolder folder = new TestFolder()) {
            List<Reason> reasons = new ArrayList<>();
            for (OpenedPayload.Result result : client(folder).openPayloads(items, keys("phone"), SENDERS)) reasons.add(result.reason());
            Check.equal(reasons, Arrays.asList(null, Reason.NOT_ENCRYPTED, Reason.REPLAYED, null), "the reasons");
            Check.equal(client(folder).openPayload(items.get(0), keys("phone"), SENDERS).sentAt(), NOW, "the time");
            try {
                client(folder).openPayload(items.get(2), keys("phone"), SENDERS);
                throw new AssertionError("it was opened");
            } catch (UnreadablePayloadException refused) {
                Check.equal(refused.reason(), Reason.REPLAYED, "the reason");
            }
            // The file of the messages survives the client's other commits.
            client(folder).account.begin("AAAAAAAAAAAAAAAAAAAAAA", "spt_y", "user:alice", former -> {});
            Check.equal(client(folder).openPayloads(items, keys("phone"), SENDERS).get(2).reason(), Reason.REPLAYED, "the reason");
        }
    }

    public static void theMessagesThatWereSentFirstAreForgottenBeyondTheLimit() {
        SeenMessages seen = new SeenMessages();
        for (int number = SeenMessages.MAXIMUM; number >= 0; number--) seen.admit("m" + number, number, NOW + number);
        seen.shrink();
        SeenMessages read = SeenMessages.decode(seen.encode());
        Check.equal(read.admit("m0", 7, NOW), 7L, "a forgotten message");
        Check.equal(read.admit("m1", 7, NOW), 1L, "a known message");
        Check.equal(SeenMessages.decode(new byte[] {0, 1}).encode().length, 0, "a damaged content");
    }

    public static void deviceKeysHaveTheirFingerprints() throws Exception {
        for (String name : FILE.get("devices").names()) {
            Json device = FILE.get("devices").get(name);
            DeviceKey key = new DeviceKey(device.get("key").string());
            Check.equal(key.fingerprint(), device.get("fingerprint").string(), "the fingerprint");
            Check.equal(key.id(), device.get("id").string(), "the id");
            refused(key.text().replace(key.account(), "BBBBBBBBBBBBBBBBBBBBBB"), Reason.SIGNATURE);
        }
        for (String text : new String[] {"", "sealpost-key.1.......", "sealpost-key.2.x"}) refused(text, Reason.MALFORMED);
    }

    public static void newKeysApproveAnotherDevice() throws Exception {
        String account = "AAAAAAAAAAAAAAAAAAAAAA";
        for (int count = 0; count < 50; count++) {
            KeyPair signing = pair();
            KeyPair agreement = pair();
            DeviceKeys phone = new DeviceKeys(DeviceKeys.text(account, signing, agreement), signing.getPrivate(), agreement.getPrivate());
            DeviceKey tablet = new DeviceKey(DeviceKeys.text(account, pair(), pair()));
            String approved = phone.approve(tablet);
            Check.equal(new DeviceKey(approved).id(), tablet.id(), "the approved device");
            Check.that(approved.startsWith(tablet.text() + phone.key().id()), "the approval follows");
        }
    }

    /** A private key in Android's Keystore has no encoding, so the client must not need one. */
    public static void keysThatCannotBeExportedSignAndOpen() throws Exception {
        TestKeystore keystore = new TestKeystore();
        Security.addProvider(keystore);
        try {
            Json device = FILE.get("devices").get("phone");
            PrivateKey signing = new TestKeystore.Opaque(
                privateKey(Base64.fromUrl(device.get("signingPrivate").string())), TestKeystore.SIGN);
            PrivateKey agreement = new TestKeystore.Opaque(
                privateKey(Base64.fromUrl(device.get("agreementPrivate").string())), TestKeystore.AGREE);
            DeviceKeys phone = new DeviceKeys(device.get("key").string(), signing, agreement);
            Json vector = FILE.get("payloads").elements().get(0);
            OpenedPayload opened = phone.open(vector.get("payload").string(), SENDERS, vector.get("app").string(), NOW);
            Check.equal(opened.message(), vector.get("message").string(), "the message");
            DeviceKey tablet = new DeviceKey(phone.approve(keys("tablet").key()));
            Check.that(tablet.isApproved(phone.key().id(), phone.key().signing), "the approval");
            KeyPair pair = new KeyPair(P256.key(phone.key().signing), signing);
            Check.equal(new DeviceKey(DeviceKeys.text(phone.key().account(), pair, pair)).account(), phone.key().account(), "the account");
        } finally {
            Security.removeProvider(keystore.getName());
        }
    }

    private static void refused(String text, Reason reason) {
        try {
            new DeviceKey(text);
        } catch (UnreadablePayloadException refused) {
            Check.equal(refused.reason(), reason, "the reason");
            return;
        }
        throw new AssertionError("it was read: " + text);
    }

    private static DeviceKeys keys(String name) throws Exception {
        Json device = FILE.get("devices").get(name);
        PrivateKey signing = privateKey(Base64.fromUrl(device.get("signingPrivate").string()));
        return new DeviceKeys(device.get("key").string(), signing, privateKey(Base64.fromUrl(device.get("agreementPrivate").string())));
    }

    private static KeyPair pair() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        return generator.generateKeyPair();
    }

    private static PrivateKey privateKey(byte[] scalar) throws Exception {
        AlgorithmParameters parameters = AlgorithmParameters.getInstance("EC");
        parameters.init(new ECGenParameterSpec("secp256r1"));
        ECParameterSpec curve = parameters.getParameterSpec(ECParameterSpec.class);
        return KeyFactory.getInstance("EC").generatePrivate(new ECPrivateKeySpec(new BigInteger(1, scalar), curve));
    }

    private static byte[] hex(Json text) {
        String digits = text.string();
        byte[] bytes = new byte[digits.length() / 2];
        for (int index = 0; index < bytes.length; index++) bytes[index] = (byte) Integer.parseInt(digits.substring(2 * index, 2 * index + 2), 16);
        return bytes;
    }
}
