package sealpost.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * A client for {@code scripts/e2e run android-client}. It reads one command from each line, and
 * prints one line of JSON for each command.
 *
 * <p>The argument is the certificate to trust. A command is JSON: {@code server}, {@code keys},
 * {@code client}, {@code call}, {@code id}, {@code user}, {@code pin}, {@code deadline}, and a
 * session's {@code token} and {@code account}. Without a token and an account the client sends a
 * name and a password, or with {@code stored} the token that it has stored. Each name of a {@code
 * client} has its own folder, which is empty at first.
 */
public final class ClientProgram {
    private final X509TrustManager trust;
    private final TestFolder folder;
    private final Map<String, PushClient> clients = new HashMap<>();

    private ClientProgram(X509TrustManager trust, TestFolder folder) {
        this.trust = trust;
        this.folder = folder;
    }

    public static void main(String[] arguments) throws Exception {
        JdkMethods.allowPatch();
        try (TestFolder folder = new TestFolder();
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            ClientProgram program = new ClientProgram(trust(new File(arguments[0])), folder);
            String line;
            while ((line = in.readLine()) != null) {
                Json command = Json.read(line.getBytes(java.nio.charset.StandardCharsets.UTF_8));
                System.out.println(program.outcome(command));
                System.out.flush();
            }
        }
    }

    private static X509TrustManager trust(File file) throws Exception {
        KeyStore keys = KeyStore.getInstance(KeyStore.getDefaultType());
        keys.load(null, null);
        try (FileInputStream in = new FileInputStream(file)) {
            Certificate certificate = CertificateFactory.getInstance("X.509").generateCertificate(in);
            keys.setCertificateEntry("test", certificate);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(keys);
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509TrustManager) return (X509TrustManager) manager;
        }
        throw new IllegalStateException("no trust manager");
    }

    private PushClient client(Json command) {
        String name = command.get("client").string();
        Json deadline = command.get("deadline");
        // Two clients with one folder differ in their deadlines.
        String key = name + " " + deadline;
        PushClient known = clients.get(key);
        if (known != null) return known;
        List<Json> keys = command.get("keys").elements();
        VerificationKey[] pinned = new VerificationKey[keys.size()];
        for (int index = 0; index < pinned.length; index++) pinned[index] = new VerificationKey(keys.get(index).string());
        Signatures signatures =
                pinned.length == 0 ? Signatures.unsigned() : Signatures.pinned(PlatformVerifier.find(), pinned);
        // Only a call that hangs takes 300 s, also on a slow machine.
        Options options = new Options(command.get("server").string(), signatures)
                .deadlineMillis(deadline == null ? 300_000L : deadline.integer());
        if (!command.isTrue("distrusts")) options.trustManager(trust);
        if (command.get("pin") != null) options.pins(command.get("pin").string());
        String user = command.get("user").string();
        Json token = command.get("token");
        Credentials credentials = command.isTrue("stored")
                ? Credentials.stored(user)
                : token == null
                ? Credentials.basic(user, "correct horse battery")
                : Credentials.token(token.string(), user).accountId(command.get("account").string());
        Store store = new Store(new File(folder.file, name), TestFolder.KEY);
        PushClient client = new PushClient(options, credentials, store);
        clients.put(key, client);
        return client;
    }

    private Json outcome(Json command) throws Exception {
        try {
            return call(client(command), command.get("call").string(), command);
        } catch (PushClientException error) {
            Json outcome = Json.object().with("reason", Json.of(name(error)));
            if (error.interference() != null) outcome = outcome.with("kind", Json.of(error.interference().kind().label()));
            return outcome.with("message", Json.of(String.valueOf(error.getMessage())));
        }
    }

    private static Json call(PushClient client, String call, Json command) throws PushClientException {
        Json outcome = Json.object();
        switch (call) {
            case "notification": {
                Fetched<NotificationItem> item = client.notification(command.get("id").integer());
                return fetched(outcome.with("value", item.value().json()), item);
            }
            case "preview": {
                NotificationItem item = client.preview(command.get("id").integer());
                return outcome.with("value", item == null ? Json.NULL : item.json());
            }
            case "taken":
                client.confirmTaken(command.get("id").integer());
                return outcome.with("value", Json.of(true));
            case "sync": {
                Fetched<Inbox> inbox = client.sync();
                java.util.List<Json> items = new java.util.ArrayList<>();
                for (NotificationItem item : inbox.value().notifications()) items.add(item.json());
                return fetched(outcome.with("value", Json.array(items)), inbox);
            }
            case "markRead":
                return outcome.with("value", client.markRead(command.get("id").integer(), true).json());
            case "unread":
                return outcome.with("value", client.markRead(command.get("id").integer(), false).json());
            case "markAllRead": {
                java.util.List<Json> read = new java.util.ArrayList<>();
                for (long id : client.markRead(Collections.singleton(command.get("id").integer()))) read.add(Json.of(id));
                return outcome.with("value", Json.array(read));
            }
            case "register":
                return outcome.with("value", Json.of(client.register("stream", "0123456789abcdef", Arrays.<String>asList())));
            case "send":
                return outcome.with("value", client.send(command.get("payload"), command.get("key").string()).json());
            case "dismiss":
                client.dismiss(command.get("id").integer());
                return outcome.with("value", Json.of(true));
            case "later": {
                client.outbox().markRead(command.get("id").integer(), true);
                return outcome.with("value", Json.of(client.outbox().send(command.get("payload"))));
            }
            case "signIn": {
                Session session = client.signIn();
                Json value = Json.object().with("token", Json.of(session.token()));
                return outcome.with("value", value.with("account", Json.of(session.account())));
            }
            case "enrol":
                return outcome.with("value", Json.of(client.signInWithCode(command.get("code").string()).account()));
            case "join":
                client.devices().joinTopic("news");
                return outcome.with("value", Json.of(true));
            case "devices": {
                java.util.List<Json> devices = new java.util.ArrayList<>();
                for (Device device : client.devices().list()) devices.add(Json.of(device.id() + " " + device.topics()));
                return outcome.with("value", Json.array(devices));
            }
            case "signOut":
                return outcome.with("value", Json.of(client.signOut()));
            case "finishSignOuts":
                return outcome.with("value", Json.of(PushClient.finishSignOuts(client.options, client.store())));
            default:
                throw new IllegalArgumentException(call);
        }
    }

    /** The reason; a late answer is distinguished, because no interference may cause one. */
    private static String name(PushClientException error) {
        return error.getCause() instanceof TimeoutException ? "DEADLINE" : error.reason().name();
    }

    private static Json fetched(Json outcome, Fetched<?> fetched) {
        if (fetched.isFresh()) return outcome;
        PushClientException failure = fetched.failure();
        Json cached = outcome.with("cached", Json.of(name(failure)));
        return failure.interference() == null ? cached : cached.with("kind", Json.of(failure.interference().kind().label()));
    }
}
