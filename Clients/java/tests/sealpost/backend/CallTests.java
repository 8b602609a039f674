package sealpost.backend;

import static sealpost.backend.Tests.equal;
import static sealpost.backend.Tests.fails;
import static sealpost.backend.Tests.that;

import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import sealpost.backend.Script.Reply;
import sealpost.backend.Script.Seen;
import sealpost.backend.Script.Step;

/** Calls to a server that follows a script. */
final class CallTests {
    private static final Notification TEXT = Notification.of("x");

    public static void anAnswerThatIsCutAnywhereIsRequestedAgain() throws Exception {
        int length = new Seen("POST / HTTP/1.1\r\nMyToken: 126322567").sent().start.length;
        List<Step> steps = new ArrayList<>();
        for (int at = 0; at < length; at += 7) {
            int cut = at;
            steps.add(request -> request.sent().cut(cut));
            steps.add(Seen::sent);
        }
        try (Script script = new Script(steps.toArray(new Step[0]))) {
            Client client = script.client();
            for (int at = 0; at < length; at += 7) equal(client.send(TEXT).id, 7L);
            equal(script.steps.size(), 0);
        }
    }

    public static void retriesHaveOneKeyAndOneBodyAndWaitForRetryAfter() throws Exception {
        try (Script script = new Script(
                request -> request.sent().cut(0),
                request -> request.sent().cut(100),
                request -> request.refusal(503, "busy", "Retry-After: 1\r\n"),
                request -> request.unechoed(502, "\"Bad gateway\"", ""),
                request -> request.refusal(409, "idempotency-key-in-use"),
                Seen::sent)) {
            long start = System.nanoTime();
            equal(script.client().send(Notification.of("é").to(Notification.user("alice"))).id, 7L);
            that(System.nanoTime() - start >= 1_000_000_000, "Retry-After was not waited for");
            equal(distinct(script, "idempotency-key").size(), 1);
            equal(distinct(script, "mytoken").size(), 6);
            for (Seen request : script.requests) equal(request.body, "{\"Payload\":\"é\",\"To\":[\"username:alice\"]}");
        }
    }

    public static void otherCallsHaveTheNamesOfTheApiAndAPostIsSentOnce() throws Exception {
        try (Script script = new Script(
                request -> request.refusal(503, "busy"),
                request -> request.answer(200, "{\"Name\":\"bob\"}"),
                request -> request.sent().cut(0),
                request -> request.answer(204, ""))) {
            Client client = script.client();
            equal(client.call("GET", "/api/users/bob?app=a%26b", null).get("Name").string(), "bob");
            fails(Unreachable.class, () -> client.call("POST", "/api/users", Json.object().with("Name", Json.of("bob"))));
            equal(client.call("DELETE", "/api/users/bob", null), null);
            String get = "GET /api/users/bob?app=a%26b HTTP/1.1";
            List<String> lines = script.requests.stream().map(request -> request.line).collect(Collectors.toList());
            equal(lines, List.of(get, get, "POST /api/users HTTP/1.1", "DELETE /api/users/bob HTTP/1.1"));
            equal(script.requests.get(2).body, "{\"Name\":\"bob\"}");
        }
    }

    public static void aCallWhosePathIsNoneSendsTheTokenNowhere() throws Exception {
        Client client = Client.builder("http://127.0.0.1:1").token("secret").build();
        for (String path : List.of("", "api/users", "@127.0.0.1:2/", ".example.com/")) {
            fails(IllegalArgumentException.class, () -> client.call("GET", path, null));
        }
    }

    public static void aMethodOrABodyThatNoRequestCanHaveIsRefused() throws Exception {
        try (Script script = new Script()) {
            Client client = script.client();
            for (String method : List.of("TRACE", "CONNECT", "get", "GET ")) {
                fails(IllegalArgumentException.class, () -> client.call(method, "/api/users", null));
            }
            for (String method : List.of("GET", "HEAD")) {
                fails(IllegalArgumentException.class, () -> client.call(method, "/api/users", Json.object()));
            }
            for (String path : List.of("/a b", "/x\r\nA: b", "/api/users/a#b", "/\u00e9")) {
                fails(IllegalArgumentException.class, () -> client.call("GET", path, null));
            }
            equal(script.requests.size(), 0);
        }
    }

    private static Set<String> distinct(Script script, String name) {
        return script.requests.stream().map(request -> request.fields.get(name)).collect(Collectors.toSet());
    }

    public static void aDelayBeyondTheDeadlineIsNotWaitedFor() throws Exception {
        try (Script script = new Script(request -> request.refusal(429, "rate-limited", "Retry-After: 3600\r\n"))) {
            Client client = script.client().within(Duration.ofSeconds(3600));
            Problem error = fails(Problem.class, () -> client.send(TEXT, "order-1"));
            equal(error.retryAfter, Duration.ofHours(1));
            equal(error.code + " " + error.status + " " + error.instance, "rate-limited 429 i");
            that(error.isTransient, "the problem may pass");
            equal(error.idempotencyKey(), "order-1");
            equal(error.getMessage(), "429 urn:sealpost:problem:rate-limited: T");
        }
    }

    public static void aRetryAfterOfThousandsOfYearsEndsTheCall() throws Exception {
        String field = "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n";
        try (Script script = new Script(request -> request.refusal(503, "busy", field))) {
            Problem error = fails(Problem.class, () -> script.client().send(TEXT, "order-1"));
            that(error.retryAfter.toDays() > 365 * 7000, "the delay is the server's");
            equal(error.status + " " + error.idempotencyKey(), "503 order-1");
        }
    }

    public static void finalAnswersAreNotRepeated() throws Exception {
        List<Step> steps = Arrays.asList(
                request -> request.unechoed(200, "\"Welcome to the hotel\"", ""),
                request -> request.unechoed(302, "", "Location: /login\r\n"),
                request -> request.answer(201, "{\"Id\":7}"),
                request -> request.answer(201, "{\"Id\""),
                request -> request.answer(404, "{\"status\":404}"),
                request -> request.answer(201, Script.SENT.replace("7", "7.5")));
        Iterator<String> verdicts =
                List.of("missingEcho", "redirect", "unexpectedBody", "notJSON", "unexpectedBody", "unexpectedBody").iterator();
        for (Step step : steps) {
            try (Script script = new Script(step)) {
                equal(fails(Interference.class, () -> script.client().send(TEXT)).kind, verdicts.next());
                equal(script.requests.size(), 1);
            }
        }
        try (Script script = new Script(request -> request.refusal(400, "unknown-user"))) {
            equal(fails(Problem.class, () -> script.client().send(TEXT)).code, "unknown-user");
        }
    }

    public static void anAnswerWhoseBodyIsCutIsNone() throws Exception {
        try (Script script = new Script(request -> {
            Reply whole = request.sent();
            return whole.cut(whole.start.length - 5);
        })) {
            that(fails(Unreachable.class, () -> script.client().call("POST", "/api/x", null)).isTransient, "a repetition may succeed");
        }
    }

    public static void anAnswerThatDripsEndsWithTheDeadline() throws Exception {
        byte[] start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        byte[] piece = "1\r\nx\r\n".getBytes(StandardCharsets.US_ASCII);
        Step drip = request -> {
            try {
                Thread.sleep(20);
            } catch (InterruptedException none) {
                throw new AssertionError(none);
            }
            return new Reply(start, piece, false);
        };
        try (Script script = new Script(request -> new Reply(start, new byte[0], false))) {
            Unreachable error = fails(Unreachable.class, () -> script.client().within(Duration.ofMillis(300)).counts(7));
            that(error.getMessage().contains("timed out"), error.getMessage());
        }
        try (Script script = new Script(drip)) {
            fails(SealpostException.class, () -> script.client().within(Duration.ofMillis(300)).counts(7));
        }
        try (Script script = new Script(request -> new Reply(new byte[0], new byte[0], false))) {
            fails(Unreachable.class, () -> script.client().within(Duration.ofMillis(300)).counts(7));
        }
    }

    public static void anEndlessAnswerIsNotKeptInMemory() throws Exception {
        byte[] start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        byte[] piece = Arrays.copyOf("100000\r\n".getBytes(StandardCharsets.US_ASCII), (1 << 20) + 10);
        piece[piece.length - 2] = '\r';
        piece[piece.length - 1] = '\n';
        try (Script script = new Script(request -> new Reply(start, piece, false))) {
            Client client = script.builder().timeout(Duration.ofMinutes(5)).build();
            equal(fails(Interference.class, () -> client.counts(7)).kind, "oversized");
        }
    }

    public static void anAddressThatRefusesConnectionsIsUnreachable() throws Exception {
        int port;
        try (ServerSocket closed = new ServerSocket(0)) {
            port = closed.getLocalPort();
        }
        Client client = Client.builder("http://127.0.0.1:" + port).token("t").deadline(Duration.ofMillis(100)).build();
        that(fails(Unreachable.class, () -> client.recall(7)).isTransient, "a later call may succeed");
    }

    public static void answersOfAnotherAccountAreRefused() throws Exception {
        try (Script script = new Script(
                request -> request.sent("Sealpost-Account: own\r\n"), request -> request.sent("Sealpost-Account: other\r\n"))) {
            Client client = script.client();
            client.send(TEXT);
            equal(fails(Interference.class, () -> client.send(TEXT)).kind, "wrongAccount");
        }
    }

    public static void aTokenMayBeAFunctionAndConnectionsAreKept() throws Exception {
        Iterator<String> tokens = List.of("one", "two").iterator();
        try (Script script = new Script(Seen::sent, Seen::sent)) {
            Client client = Client.builder(script.url() + "/base/").token(tokens::next).build();
            client.send(TEXT);
            client.send(TEXT);
            equal(script.requests.get(0).fields.get("authorization"), "Bearer one");
            equal(script.requests.get(1).fields.get("authorization"), "Bearer two");
            equal(script.requests.get(0).line, "POST /base/api/notifications HTTP/1.1");
            equal(script.connections, 1);
        }
    }

    public static void nothingIsSentIfTheFunctionForTokensEndsAfterTheDeadline() throws Exception {
        try (Script script = new Script()) {
            Client client = script.builder().deadline(Duration.ofMillis(100)).token(() -> {
                long end = System.nanoTime() + 200_000_000;
                while (System.nanoTime() < end) Thread.onSpinWait();
                return "t";
            }).build();
            equal(fails(Unreachable.class, () -> client.send(TEXT, "k")).idempotencyKey(), "k");
            fails(Unreachable.class, () -> client.call("POST", "/api/x", null));
            equal(script.requests.size(), 0);
        }
    }

    public static void aThreadThatIsInterruptedEndsItsCall() throws Exception {
        try (Script script = new Script(request -> new Reply(new byte[0], new byte[0], false))) {
            Thread.currentThread().interrupt();
            fails(Unreachable.class, () -> script.client().send(TEXT));
            that(Thread.interrupted(), "the thread stays interrupted");
        }
        try (Script script = new Script(request -> request.refusal(503, "busy", "Retry-After: 300\r\n"))) {
            Thread caller = Thread.currentThread();
            Thread other = new Thread(() -> {
                while (caller.getState() != Thread.State.TIMED_WAITING || script.requests.isEmpty()) Thread.onSpinWait();
                caller.interrupt();
            });
            other.start();
            fails(SealpostException.class, () -> script.client().send(TEXT));
            that(Thread.interrupted(), "the thread stays interrupted");
            other.join();
        }
    }

    public static void unfinishedElementsOfABatchAreSentByTheSameRequest() throws Exception {
        String good = "{\"Status\":201," + Script.SENT.substring(1);
        String bad = "{\"Status\":400,\"Problem\":" + Script.problem(400, "unknown-user") + "}";
        String busy = "{\"Status\":503,\"Problem\":" + Script.problem(503, "busy") + "}";
        List<Notification> three = Collections.nCopies(3, TEXT);
        Step unfinished = request -> request.answer(200, outcomes(good, bad, busy));
        try (Script script = new Script(unfinished, request -> request.answer(200, outcomes(good, bad, good)))) {
            List<Outcome> outcomes = script.client().sendMany(three, "k");
            equal(codes(outcomes), List.of("7", "unknown-user", "7"));
            equal(outcomes.get(0).get().createdAt, Instant.parse("2026-11-28T10:00:00Z"));
            equal(outcomes.get(0).get(), outcomes.get(2).get());
            equal(fails(Problem.class, () -> outcomes.get(1).get()).status, 400);
            equal(distinct(script, "idempotency-key"), Set.of("k-0"));
            equal(script.requests.get(0).body, script.requests.get(1).body);
        }
        try (Script script = new Script(unfinished)) {
            // The next attempt would be after the deadline.
            Client.Builder builder = script.builder().deadline(Duration.ofSeconds(10));
            builder.firstDelay = Duration.ofSeconds(30);
            equal(codes(builder.build().sendMany(three, "k")), List.of("7", "unknown-user", "busy"));
        }
        try (Script script = new Script(request -> request.answer(200, outcomes(good)))) {
            Interference error = fails(Interference.class, () -> script.client().sendMany(three, "k"));
            equal(error.kind + " " + error.idempotencyKey(), "unexpectedBody k");
        }
    }

    private static String outcomes(String... outcomes) {
        return "{\"Outcomes\":[" + String.join(",", outcomes) + "]}";
    }

    private static List<String> codes(List<Outcome> outcomes) {
        return outcomes.stream()
                .map(outcome -> outcome.problem == null ? Long.toString(outcome.get().id) : outcome.problem.code)
                .collect(Collectors.toList());
    }

    public static void longBatchesAreCutByNumberAndByBytes() throws Exception {
        equal(Batch.of(Collections.nCopies(501, TEXT), 500, 4_000_000).size(), 2);
        List<Batch> batches = Batch.of(Collections.nCopies(3, Notification.of("x".repeat(1_500_000))), 500, 4_000_000);
        equal(batches.size(), 2);
        that(batches.get(0).body().length < 4_000_000, "the batch is too large");
        equal(new String(Batch.of(List.of(TEXT, TEXT), 2, 100).get(0).body(), StandardCharsets.UTF_8),
                "{\"Notifications\":[{\"Payload\":\"x\"},{\"Payload\":\"x\"}]}");
        try (Script script = new Script()) {
            equal(script.client().sendMany(List.of()), List.of());
        }
    }

    public static void membersAreThoseOfTheApi() {
        Notification notification = Notification.of(Json.object().with("room", Json.of(7)))
                .to("news")
                .to("news", "nurses && !away")
                .app("ward")
                .platforms("apns")
                .sendAt(Instant.parse("2026-11-22T07:30:00Z"))
                .expiresIn(Duration.ofHours(1))
                .priority("normal")
                .collapseKey("k")
                .store("never")
                .readOnce(true)
                .alert(Json.object().with("Badge", Json.of(3)));
        equal(
                new String(notification.body(), StandardCharsets.UTF_8),
                "{\"Payload\":{\"room\":7},\"To\":[\"news\",\"nurses && !away\"],\"App\":\"ward\",\"Platforms\":[\"apns\"],"
                        + "\"SendAt\":\"2026-11-22T07:30:00Z\",\"ExpiresIn\":3600,\"Priority\":\"normal\",\"CollapseKey\":\"k\","
                        + "\"Store\":\"never\",\"ReadOnce\":true,\"Alert\":{\"Badge\":3}}");
    }

    public static void wrongArgumentsAreRefusedBeforeARequest() throws Exception {
        Class<IllegalArgumentException> wrong = IllegalArgumentException.class;
        fails(wrong, () -> Notification.of("\ud800").body());
        equal(Notification.user("alice@example.com"), "username:alice@example.com");
        for (String name : Arrays.asList(null, "", "a || news", "a)", "!a", "a:b", "é", "a".repeat(101), "a\n")) {
            fails(wrong, () -> Notification.user(name));
        }
        Client client = new Client("http://127.0.0.1:1", "t");
        for (String text : Arrays.asList("", "a b", "é", "a\r\nb", null)) {
            fails(wrong, () -> client.send(TEXT, text));
            fails(wrong, () -> client.sendMany(List.of(TEXT), text));
            fails(wrong, () -> new Client("https://x", text));
            fails(wrong, () -> Client.builder("https://x").account(text));
        }
        fails(wrong, () -> Client.builder("https://x").token(() -> null).build().recall(7));
        Class<NullPointerException> none = NullPointerException.class;
        equal(fails(none, () -> new Client(null, "t")).getMessage(), "server");
        equal(fails(none, () -> Client.builder("https://x").user("paul", null)).getMessage(), "password");
        equal(fails(none, () -> Client.builder("https://x").http(null)).getMessage(), "http");
        equal(fails(none, () -> new Encryption(SenderKey.generate(), new Pins(), null)).getMessage(), "changed");
        equal(fails(none, () -> TEXT.to((String) null)).getMessage(), "to");
        equal(fails(none, () -> TEXT.to((String[]) null)).getMessage(), "to");
        equal(fails(none, () -> TEXT.platforms("apns", null)).getMessage(), "platforms");
        equal(fails(none, () -> TEXT.app(null)).getMessage(), "app");
        equal(fails(none, () -> TEXT.sendAt(null)).getMessage(), "sendAt");
        equal(fails(none, () -> TEXT.expiresIn(null)).getMessage(), "expiresIn");
        equal(fails(none, () -> TEXT.priority(null)).getMessage(), "priority");
        equal(fails(none, () -> TEXT.collapseKey(null)).getMessage(), "collapseKey");
        equal(fails(none, () -> TEXT.store(null)).getMessage(), "store");
        equal(fails(none, () -> TEXT.alert(null)).getMessage(), "alert");
        equal(fails(none, () -> TEXT.payload(null)).getMessage(), "payload");
        equal(fails(none, () -> Notification.of((Json) null)).getMessage(), "payload");
        equal(fails(none, () -> client.setTags("bob", Arrays.asList("role:nurse", null))).getMessage(), "tags");
        equal(fails(none, () -> client.call("GET", null, null)).getMessage(), "path");
        equal(fails(none, () -> new Pins(null, true)).getMessage(), "values");
        equal(fails(none, () -> new Pins().trust("bob", null)).getMessage(), "key");
        equal(fails(none, () -> new Pins().forget(null)).getMessage(), "user");
        equal(fails(none, () -> client.deviceKeys(null, "default")).getMessage(), "expression");
        equal(fails(none, () -> client.deviceKeys("news", null)).getMessage(), "app");
        Encryption encryption = new Encryption(SenderKey.generate(), new Pins(), changes -> {});
        equal(fails(none, () -> encryption.prepare(client, List.of("news"), null)).getMessage(), "app");
        equal(fails(none, () -> encryption.encrypt(Json.of("x"), List.of(), null)).getMessage(), "app");
        for (Duration limit : List.of(Duration.ZERO, Duration.ofNanos(-1), Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(Long.MIN_VALUE))) {
            fails(wrong, () -> client.within(limit));
            fails(wrong, () -> Client.builder("https://x").timeout(limit));
            fails(wrong, () -> Client.builder("https://x").deadline(limit));
        }
        fails(wrong, () -> client.tags("carol/../bob"));
        for (String name : List.of(".", "..", "")) {
            fails(wrong, () -> client.tags(name));
            fails(wrong, () -> client.setTags(name, List.of()));
            fails(wrong, () -> client.setDisabled(name, true));
            fails(wrong, () -> client.deleteUser(name));
        }
        for (String server : List.of("push.example.com", "ftp://x", "https://", "https://u:p@x", "https://x/?a", "https://x y", "/x")) {
            fails(wrong, () -> new Client(server, "t"));
        }
        for (String server : List.of("http://push.example.com", "http://localhost.example.com", "http://127.0.0.1.example.com")) {
            String message = fails(wrong, () -> new Client(server, "t")).getMessage();
            equal(message.startsWith("server: http sends the token in clear"), true, server);
        }
        for (String server : List.of("http://localhost:8080", "http://LOCALHOST", "http://127.9.9.9", "http://[::1]:8080")) {
            new Client(server, "t");
        }
        Client.builder("http://sealpost:8080").token("t").isInsecureAllowed(true).build();
        fails(wrong, () -> Client.builder("https://x").build());
        HttpClient following = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
        fails(wrong, () -> Client.builder("https://x").token("t").http(following).build());
        fails(wrong, () -> Client.builder("https://x").signingKeys());
        for (String key : List.of("x", "AAAA", "A".repeat(43) + "=", "*".repeat(43))) {
            String message = fails(wrong, () -> Client.builder("https://x").signingKeys(key)).getMessage();
            equal(message.startsWith("signingKeys: a signing key is 32 bytes"), true, key);
        }
        equal(fails(none, () -> Client.builder("https://x").signingKeys((String) null)).getMessage(), "signingKeys");
    }
}
