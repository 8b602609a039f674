package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;
import static sealpost.backend.Tests.that;

import java.io.InputStream;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Calls to the real server, which test_java.py starts; it also counts what has arrived. */
final class ServerTests {
    private static final String SERVER = System.getenv("SEALPOST_SERVER");
    private static final String TOKEN = System.getenv("SEALPOST_TOKEN");
    private static final int MANY = Integer.parseInt(System.getenv("SEALPOST_MANY"));
    private static final Client CLIENT = Client.builder(SERVER).token(TOKEN).timeout(Duration.ofMinutes(2)).deadline(Duration.ofMinutes(5)).build();

    private static Notification to(String name, String text) {
        return Notification.of(text).to(Notification.user(name));
    }

    /** The program counts the texts in bob's list. */
    public static void eachNotificationIsSentOnceAlthoughThreeOfTenAnswersAreLost() throws Exception {
        Client.Builder builder = Client.builder(System.getenv("SEALPOST_PROXY")).token(TOKEN);
        builder.timeout(Duration.ofMinutes(5)).deadline(Duration.ofMinutes(10)).firstDelay = Duration.ofMillis(1);
        Client client = builder.build();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Sent>> singles = new ArrayList<>();
        for (int number = 0; number < 200; number++) {
            Notification notification = to("bob", "single " + number);
            singles.add(pool.submit(() -> client.send(notification)));
        }
        Set<Long> ids = new HashSet<>();
        for (Future<Sent> single : singles) ids.add(single.get().id);
        pool.shutdown();
        List<Notification> many = new ArrayList<>();
        for (int number = 0; number < MANY; number++) many.add(to("bob", "many " + number));
        for (Outcome outcome : client.sendMany(many)) ids.add(outcome.get().id);
        equal(ids.size(), 200 + MANY);
    }

    public static void theKeyOfTheCallerOutlivesTheClient() throws Exception {
        Sent first = CLIENT.send(to("carol", "once"), "order-7");
        Client restarted = new Client(SERVER, TOKEN);
        equal(restarted.send(to("carol", "once"), "order-7"), first);
        Problem problem = fails(Problem.class, () -> restarted.send(to("carol", "other"), "order-7"));
        equal(problem.code + " " + problem.idempotencyKey(), "idempotency-key-reused order-7");
    }

    public static void aScheduledNotificationIsCountedAndCancelled() {
        Instant at = Instant.now().truncatedTo(ChronoUnit.SECONDS).plus(Duration.ofDays(1));
        Sent sent = CLIENT.send(to("carol", "later").sendAt(at).expiresIn(Duration.ofHours(1)));
        equal(sent.sendAt, at);
        equal(sent.expiresAt, at.plus(Duration.ofHours(1)));
        equal(sent.recipients, null);
        that(sent.more, "the server has not looked for devices");
        equal(CLIENT.counts(sent.id).sendAt, at);
        that(CLIENT.recall(sent.id), "the notification was scheduled");
        that(!CLIENT.recall(sent.id), "the notification was recalled");
    }

    public static void deliveriesAndEventsComePageByPage() {
        Client.Builder builder = Client.builder(SERVER).token(TOKEN);
        builder.pageSize = 2;
        Client client = builder.build();
        Sent sent = client.send(Notification.of("to devices").to("three"));
        equal(sent.recipients + " " + sent.pushes, "1 3");
        equal(client.counts(sent.id).counts.get("queued"), 3L);
        List<Delivery> deliveries = client.deliveries(sent.id).collect(Collectors.toList());
        Set<String> devices = deliveries.stream().map(delivery -> delivery.device).collect(Collectors.toSet());
        equal(devices.size(), 3);
        for (Delivery delivery : deliveries) equal(delivery.user + " " + delivery.platform + " " + delivery.state, "carol stream queued");
        List<Recipient> recipients = client.recipients(sent.id).collect(Collectors.toList());
        equal(recipients.size() + recipients.get(0).user + recipients.get(0).readAt, "1carolnull");
        client.recall(sent.id);
        Set<String> cancelled = new HashSet<>();
        EventPage page = client.events(null, 2);
        while (!page.events.isEmpty()) {
            that(page.events.size() <= 2, "the page is too large");
            for (Event event : page.events) {
                if (event.kind.equals("cancelled") && event.notification == sent.id) cancelled.add(event.device);
            }
            page = client.events(page.cursor, 2);
        }
        equal(cancelled, devices);
    }

    public static void anAdministratorManagesUsers() throws Exception {
        String password = System.getenv("SEALPOST_PASSWORD");
        Client admin = Client.builder(SERVER).user("root", password).build();
        Client dora = Client.builder(SERVER).user("dora", password).build();
        admin.addUser("dora", "device", password);
        equal(fails(Problem.class, () -> admin.addUser("dora")).code, "conflict");
        String id = dora.call("POST", "/api/register", null).string();
        dora.call("PUT", "/api/register/" + id, Json.object().with("Platform", Json.of("stream")));
        List<Device> devices = admin.devices("dora").collect(Collectors.toList());
        equal(devices.size(), 1);
        Device device = devices.get(0);
        equal(List.of(device.id, device.state, device.platform), List.of(id, "registered", "stream"));
        that(device.lastPush == null && device.registeredAt != null, "the times of " + device);
        admin.setDisabled("dora", true);
        equal(fails(Problem.class, () -> dora.call("GET", "/api/register", null)).status, 401);
        admin.setDisabled("dora", false);
        equal(dora.call("GET", "/api/register", null).elements().size(), 1);
        that(admin.deleteUser("dora") && !admin.deleteUser("dora"), "dora is deleted once");
        Status status = admin.status();
        equal(status.troubles, List.of());
        that(status.lanes.stream().anyMatch(lane -> lane.name.equals("stream") && lane.pauseReason == null), "the lanes of " + status);
    }

    public static void tagsOfUsersAddressThem() throws Exception {
        CLIENT.setTags("carol", List.of("role:nurse"));
        equal(CLIENT.tags("carol"), List.of("role:nurse"));
        equal(CLIENT.send(Notification.of("for nurses").to("role:nurse && !username:bob")).recipients, 1L);
        CLIENT.setTags("carol", List.of());
        equal(fails(Problem.class, () -> CLIENT.tags("nobody")).status, 404);
    }

    /** The program opens it. */
    public static void anEndToEndPayloadIsForTheDeviceWithAKey() throws Exception {
        List<KeyChange> changes = new ArrayList<>();
        Encryption encryption = new Encryption(SenderKey.read(System.getenv("SEALPOST_SENDER")), new Pins(), changes::addAll);
        equal(encryption.send(CLIENT, to("carol", "only for carol \u00fc")).recipients, 1L);
        equal(changes.size() + " " + changes.get(0).kind, "1 FIRST");
        Notification stored = to("carol", "repeated");
        String text = encryption.encrypted(CLIENT, stored).payload().string();
        Sent first = CLIENT.send(encryption.encrypted(CLIENT, stored).payload(text), "stored");
        equal(new Client(SERVER, TOKEN).send(to("carol", "repeated").app("default").payload(text), "stored"), first);
        Problem reused = fails(Problem.class, () -> encryption.send(CLIENT, stored, "stored"));
        equal(reused.code, "idempotency-key-reused");
        fails(NoTrustedDevice.class, () -> encryption.send(CLIENT, to("bob", "x")));
        Problem error = fails(Problem.class, () -> encryption.send(CLIENT, to("carol", "x").app("unknown")));
        equal(error.code, "unknown-app");
    }

    public static void aBatchHasAnOutcomeForEach() {
        List<Outcome> outcomes = CLIENT.sendMany(List.of(to("carol", "good"), to("nobody", "bad")));
        that(outcomes.get(0).sent != null, outcomes.toString());
        equal(outcomes.get(1).problem.code + " " + outcomes.get(1).problem.status, "unknown-user 400");
    }

    public static void refusalsHaveTheirCodes() throws Exception {
        equal(fails(Problem.class, () -> new Client(SERVER, "spt_none").send(to("carol", "x"))).code, "invalid-token");
        Problem problem = fails(Problem.class, () -> CLIENT.send(to("carol", "x").expiresIn(Duration.ZERO)));
        equal(problem.code, "invalid-member");
        that(!problem.isTransient && problem.detail != null && problem.instance != null, problem.getMessage());
    }

    public static void signedAnswersAreAcceptedWithThePinnedKeyOnly() throws Exception {
        Client client = Client.builder(SERVER).token(TOKEN).signingKeys(System.getenv("SEALPOST_KEY")).build();
        equal(client.counts(client.send(to("carol", "signed")).id).sendAt, null);
        equal(fails(Problem.class, () -> client.send(to("nobody", "x"))).code, "unknown-user");
        equal(client.recall(7_000_000), false);
        Client other = Client.builder(SERVER).token(TOKEN).signingKeys("gUZkDwJJOvT7xU_jM4jnXcLJN64LdyfMKyr7G3UZmj4").build();
        equal(fails(Interference.class, () -> other.send(to("carol", "x"))).kind, "signature");
    }

    public static void tlsAcceptsTheCertificateOfTheContextOnly() throws Exception {
        String server = System.getenv("SEALPOST_TLS_SERVER");
        Notification notification = Notification.of("x".repeat(60_000));
        Client.Builder builder = Client.builder(server).user("alice", System.getenv("SEALPOST_PASSWORD"));
        Unreachable error = fails(Unreachable.class, () -> builder.build().send(notification));
        that(!error.isTransient, error.getMessage());
        Client client = builder.http(HttpClient.newBuilder().sslContext(context()).build()).build();
        equal(client.send(notification).recipients, 1L);
        that(client.recall(client.send(notification).id), "the notification is stored");
    }

    private static SSLContext context() throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (InputStream file = Files.newInputStream(Path.of(System.getenv("SEALPOST_CERTIFICATE")))) {
            trusted.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
