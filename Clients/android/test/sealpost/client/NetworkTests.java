package sealpost.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/** Tests of requests and answers on sockets. */
public final class NetworkTests {
    private static final Credentials ALICE = Credentials.token("spt_first", "alice");

    private NetworkTests() {}

    private static PushClient unsigned(RawServer server, TestFolder folder) {
        return new PushClient(new Options(server.url(), Signatures.unsigned()), ALICE, folder.store());
    }

    public static void anAnswerWithoutAnEchoIsJudgedByItsStatus() throws Exception {
        Map<Advice, int[]> wanted = new TreeMap<>();
        wanted.put(Advice.WAIT, new int[] {408, 421, 429, 500, 502, 503, 504, 599});
        wanted.put(Advice.CAPTIVE_PORTAL, new int[] {200, 206, 302, 307, 401, 403, 511});
        wanted.put(Advice.PROXY, new int[] {407});
        wanted.put(Advice.INTERFERENCE, new int[] {400, 404, 405, 410, 418, 499});
        for (Map.Entry<Advice, int[]> entry : wanted.entrySet()) {
            for (int status : entry.getValue()) {
                String answer = "HTTP/1.1 " + status + " X\r\nContent-Length: 6\r\n\r\n<html>";
                try (RawServer server = new RawServer(head -> answer);
                        TestFolder folder = new TestFolder()) {
                    PushClientException error =
                            Check.fails(() -> unsigned(server, folder).notification(7), PushClientException.Reason.INTERFERENCE);
                    Check.equal(error.advice(), entry.getKey(), "the advice for " + status);
                    Check.equal(error.interference().status(), status, "the status");
                    Check.equal(Check.firstSyncFails(unsigned(server, folder)).advice(), entry.getKey(), "a first sync");
                }
            }
        }
    }

    /** The labels, kinds and texts are those of the Swift client, but for its `unavailable`. */
    public static void theAdviceIsThatOfTheSwiftClient() throws Exception {
        String swift = new String(
                java.nio.file.Files.readAllBytes(java.nio.file.Paths.get(
                        System.getProperty("sealpost.root"), "Sources/PushClient/Errors/Advice.swift")),
                java.nio.charset.StandardCharsets.UTF_8);
        for (Advice advice : Advice.values()) {
            Check.that(swift.contains("case ." + advice.label() + ": \"" + advice.text() + "\""), "the text of " + advice.label());
        }
        for (Interference.Kind kind : Interference.Kind.values()) {
            PushClientException error = PushClientException.of(new Interference(kind, "a", null, 200, "/"));
            Check.equal(error.reason(), PushClientException.Reason.INTERFERENCE, "the reason of " + kind);
            Check.that(error.allowsCached(), "the cache is shown: " + kind);
        }
        Map<PushClientException.Reason, Advice> wanted = new EnumMap<>(PushClientException.Reason.class);
        wanted.put(PushClientException.Reason.OFFLINE, Advice.OFFLINE);
        wanted.put(PushClientException.Reason.INTERFERENCE, Advice.INTERFERENCE);
        wanted.put(PushClientException.Reason.UNAUTHORIZED, Advice.SIGN_IN);
        wanted.put(PushClientException.Reason.SIGNED_OUT, Advice.SIGN_IN);
        wanted.put(PushClientException.Reason.BUSY, Advice.WAIT);
        wanted.put(PushClientException.Reason.PROBLEM, Advice.REFUSED);
        wanted.put(PushClientException.Reason.KEY_REPLACED, Advice.KEY_REPLACED);
        wanted.put(PushClientException.Reason.NOT_REGISTERED, Advice.APP);
        wanted.put(PushClientException.Reason.OUTBOX_FULL, Advice.OFFLINE);
        wanted.put(PushClientException.Reason.STORAGE, Advice.STORAGE);
        for (PushClientException.Reason reason : PushClientException.Reason.values()) {
            Check.equal(PushClientException.of(reason, "x", null).advice(), wanted.get(reason), "the advice for " + reason);
        }
    }

    public static void refusalsForNowAreBusy() {
        for (int status : new int[] {400, 403, 404, 408, 409, 429, 500, 503, 507}) {
            boolean isForNow = status == 408 || status == 429 || status >= 500;
            for (String code : new String[] {"a-code", "idempotency-key-in-use"}) {
                PushClientException error = PushClientException.of(new Problem(code, "a title", status, null), 7);
                boolean isBusy = isForNow || !code.equals("a-code");
                Check.equal(
                        error.reason(), isBusy ? PushClientException.Reason.BUSY : PushClientException.Reason.PROBLEM, code + status);
                Check.equal(error.allowsCached(), isBusy, "the cache is shown: " + code + status);
                Check.equal(error.retryAfterSeconds(), 7L, "how long to wait");
            }
        }
    }

    public static void anInterimAnswerIsNotTheAnswer() throws Exception {
        for (int status : new int[] {102, 103}) {
            try (RawServer server = new RawServer(head -> "HTTP/1.1 " + status + " X\r\nLink: x\r\n\r\n" + RawServer.echoed(head, 200, "{}"));
                    TestFolder folder = new TestFolder()) {
                PushClientException error = Check.fails(() -> unsigned(server, folder).notification(7), PushClientException.Reason.OFFLINE);
                Check.that(error.getMessage().contains("interim status " + status), error.getMessage());
            }
        }
        try (RawServer server = new RawServer(head -> "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 100 X\r\n\r\n" + RawServer.echoed(head, 200, "{\"Read\": []}"));
                TestFolder folder = new TestFolder()) {
            Check.that(unsigned(server, folder).markRead(Collections.singleton(7L)).isEmpty(), "100 is skipped");
        }
    }

    public static void anAnswerThatEndsInsideItsHeadIsNoAnswer() throws Exception {
        for (String end : new String[] {"Content-Length", "MyToken"}) {
            try (RawServer server = new RawServer(head -> RawServer.echoed(head, 200, "{}").split(end)[0]);
                    TestFolder folder = new TestFolder()) {
                PushClientException error = Check.fails(() -> unsigned(server, folder).notification(7), PushClientException.Reason.OFFLINE);
                Check.that(error.getMessage().contains("inside its head"), error.getMessage());
            }
        }
    }

    /** Android's platform throws if a head is cut, so such an answer has a whole head. */
    public static void onlyTheJDKHidesACutHead() throws Exception {
        for (boolean isEchoed : new boolean[] {true, false}) {
            Options options = new Options("http://127.0.0.1", Signatures.unsigned()).connections(url -> headOnly(url, isEchoed));
            try (TestFolder folder = new TestFolder()) {
                PushClient client = new PushClient(options, ALICE, folder.store());
                PushClientException error = Check.fails(() -> client.notification(7), PushClientException.Reason.INTERFERENCE);
                Interference.Kind wanted = isEchoed ? Interference.Kind.UNEXPECTED_BODY : Interference.Kind.MISSING_ECHO;
                Check.equal(error.interference().kind(), wanted, "the kind");
            }
        }
    }

    /** An answer without length, date and body, from another class than the JDK's. */
    private static HttpURLConnection headOnly(URL url, boolean isEchoed) {
        return new HttpURLConnection(url) {
            @Override
            public String getHeaderField(String name) {
                return name.equals(MyToken.FIELD) ? getHeaderField(0) : null;
            }

            @Override
            public String getHeaderField(int index) {
                return isEchoed && index == 0 ? new MyToken(Integer.parseInt(getRequestProperty(MyToken.FIELD))).echo() : null;
            }

            @Override
            public String getHeaderFieldKey(int index) {
                return MyToken.FIELD;
            }

            @Override
            public int getResponseCode() {
                return 200;
            }

            @Override
            public InputStream getInputStream() {
                return InputStream.nullInputStream();
            }

            @Override
            public void connect() {}

            @Override
            public void disconnect() {}

            @Override
            public boolean usingProxy() {
                return false;
            }
        };
    }

    public static void anEmptyBodyMayEndWithTheConnection() throws Exception {
        RawServer.Answers answers = head -> head.startsWith("POST")
                ? RawServer.echoed(head, 200, "\"id\"")
                : RawServer.echoed(head, 200, "").replace("HTTP/1.1", "HTTP/1.0")
                        .replace("Content-Length: 0", "Date: Mon, 30 Nov 2026 12:00:00 GMT");
        try (RawServer server = new RawServer(answers);
                TestFolder folder = new TestFolder()) {
            Check.equal(unsigned(server, folder).register("fcm", "a", Collections.<String>emptyList()), "id", "registered");
        }
    }

    /** The other clients' platforms refuse such a head themselves. */
    public static void anAnswerWithAnUnreadableHeadIsNoAnswer() throws Exception {
        for (String length : new String[] {"-5", "2x", "+2", ""}) {
            for (String echo : new String[] {"", "X-"}) {
                RawServer.Answers answer = head -> RawServer.echoed(head, 200, "{}")
                        .replace("Content-Length: 2", "Content-Length: " + length).replace("MyToken", echo + "MyToken");
                try (RawServer server = new RawServer(answer);
                        TestFolder folder = new TestFolder()) {
                    PushClientException error = Check.fails(() -> unsigned(server, folder).notification(7), PushClientException.Reason.OFFLINE);
                    Check.that(error.getMessage().contains("Content-Length"), length + ": " + error.getMessage());
                }
            }
        }
    }

    public static void aPortalsPageMayEndWithTheConnection() throws Exception {
        for (String answer : new String[] {"200 OK\r\n\r\n<html>", "302 Found\r\nLocation: http://portal.example/\r\n\r\n"}) {
            try (RawServer server = new RawServer(head -> "HTTP/1.0 " + answer);
                    TestFolder folder = new TestFolder()) {
                Check.fails(() -> unsigned(server, folder).notification(7), PushClientException.Reason.INTERFERENCE);
            }
        }
    }

    /**
     * The server carries out the request and closes the connection without an answer, so the
     * client does not know the outcome.
     */
    public static void aSignInARegistrationAndANewPasswordAreSentOnce() throws Exception {
        for (boolean isKept : new boolean[] {true, false}) {
            try (RawServer server = new RawServer(head -> head.startsWith("GET") ? RawServer.echoed(head, 200, SESSION) : "");
                    TestFolder folder = new TestFolder()) {
                Options options = new Options(server.url(), Signatures.unsigned());
                PushClient client = new PushClient(options, Credentials.basic("alice", "secret"), folder.store());
                if (isKept) client.preview(7);
                server.log.clear();
                Check.fails(client::signIn, PushClientException.Reason.OFFLINE);
                Check.fails(() -> client.register("fcm", "h", Collections.<String>emptyList()), PushClientException.Reason.OFFLINE);
                Check.fails(() -> client.changePassword("secret", "another"), PushClientException.Reason.OFFLINE);
                server.log.removeIf(line -> line.startsWith("GET"));
                List<String> wanted =
                        Arrays.asList("POST /api/sessions", "POST /api/register?handle=h", "PUT /api/users/current/password");
                Check.equal(server.log, wanted, "the requests");
            }
        }
    }

    public static void lookupsThatHangHoldNoOtherCall() throws Exception {
        try (TestServer server = new TestServer();
                TestFolder folder = new TestFolder();
                TestFolder other = new TestFolder()) {
            server.add("text");
            CountDownLatch isOver = new CountDownLatch(1);
            Options hung = server.options().deadlineMillis(50).connections(url -> {
                // This loop stands for a name lookup, which cannot be interrupted.
                boolean isWaiting = true;
                while (isWaiting) {
                    try {
                        isOver.await();
                        isWaiting = false;
                    } catch (InterruptedException ignored) {
                        continue;
                    }
                }
                throw new IOException("over");
            });
            try {
                PushClient client = new PushClient(hung, ALICE, folder.store());
                for (int count = 0; count < 20; count++) Check.isLate(Check.firstSyncFails(client));
                Check.that(server.client(other.store()).sync().isFresh(), "another client");
            } finally {
                isOver.countDown();
            }
        }
    }

    public static void callsOnTheMainThreadAreRefused() throws Exception {
        try (TestServer server = new TestServer();
                TestFolder folder = new TestFolder()) {
            server.add("text");
            PushClient client = server.client(folder.store());
            client.sync();
            MainThread.thread = Thread.currentThread();
            try {
                Check.Body[] calls = {
                    client::sync, () -> client.notification(1), () -> client.preview(1), () -> client.confirmTaken(1),
                    () -> client.markRead(1, true), () -> client.dismiss(1), () -> client.send(Json.of("x"), "k"),
                    () -> client.registerIfNeeded("fcm", "h", Collections.<String>emptyList()), () -> client.outbox().flush(),
                    client::signIn, () -> client.signIn("alice", "secret"), client::signOut,
                    () -> PushClient.finishSignOuts(server.options(), folder.store())
                };
                server.log.clear();
                for (Check.Body call : calls) {
                    try {
                        call.run();
                        throw new AssertionError("a call was made");
                    } catch (IllegalStateException refused) {
                        Check.that(refused.getMessage().contains("main thread"), refused.getMessage());
                    }
                }
                Check.equal(client.cachedInbox().notifications().size(), 1, "the cache needs no network, and is there");
                Check.equal(server.log.size(), 0, "requests");
            } finally {
                MainThread.thread = null;
            }
        }
    }

    public static void anAppAddsFieldsButNotTheClientsOwn() throws Exception {
        try (TestServer server = new TestServer(); TestFolder folder = new TestFolder()) {
            long id = server.add("text");
            Map<String, String> fields = new HashMap<>();
            List<String> seen = new ArrayList<>();
            Options options = server.options().headers((method, route) -> {
                seen.add(method + " " + route);
                return fields;
            });
            PushClient client = new PushClient(options, ALICE, folder.store());
            fields.put("traceparent", "00-1-2-01");
            for (String own : new String[] {"authorization", "IF-NONE-MATCH", "MyToken", "Accept-Signature", "accept"}) fields.put(own, "x");
            client.notification(id);
            Check.equal(seen, Collections.singletonList("GET /api/notifications/{id}"), "the calls");
            Check.equal(server.lastFields.get("traceparent"), "00-1-2-01", "the added field");
            Check.equal(server.lastFields.get("authorization"), "Bearer spt_first", "the client's own field");
            Check.equal(server.lastFields.get("if-none-match"), null, "a field that this request lacks");
            for (String[] field : new String[][] {{"a b", "x"}, {"", "x"}, {"a", "x\r\nAuthorization: y"}, {"a", "\n"}, {"a", "\u00e9"}}) {
                fields.clear();
                fields.put(field[0], field[1]);
                try {
                    client.sync();
                    throw new AssertionError("it was sent: " + field[0]);
                } catch (IllegalArgumentException malformed) {
                    Check.equal(seen.get(seen.size() - 1), "GET /api/notifications", "the call");
                }
            }
        }
    }

    public static void anObserverSeesEachRequestWithoutItsSecrets() throws Exception {
        // The server is not in a try statement, because the test closes it early.
        TestServer server = new TestServer();
        try (TestFolder folder = new TestFolder()) {
            long id = server.add("a secret text");
            List<String> seen = new ArrayList<>();
            Options options = server.options().observer(new Observer() {
                @Override
                public void answered(String method, String route, int status, long millis) {
                    seen.add(method + " " + route + " " + status);
                }

                @Override
                public void failed(String method, String route, PushClientException.Reason reason, Interference.Kind kind, long millis) {
                    seen.add(method + " " + route + " " + reason + " " + kind);
                }
            });
            PushClient client = new PushClient(options, ALICE, folder.store());
            client.notification(id);
            client.register("fcm", "handle", Collections.<String>emptyList());
            Check.fails(() -> client.notification(1), PushClientException.Reason.PROBLEM);
            server.isForged = true;
            client.sync();
            server.close();
            client.sync();
            Check.equal(
                    seen,
                    Arrays.asList(
                            "GET /api/notifications/{id} 200", "POST /api/register 200", "PUT /api/register/{id} 200",
                            "GET /api/notifications/{id} 404", "GET /api/notifications INTERFERENCE SIGNATURE",
                            "GET /api/notifications OFFLINE null"),
                    "the requests");
        }
    }

    private static final String SESSION = "{\"Name\": \"alice\", \"Notifications\": []}";

    public static void aCompressedAnswerIsDecodedWithinTheLimit() throws Exception {
        for (String coding : Arrays.asList("gzip", "deflate")) {
            for (boolean isOnlyLabelled : new boolean[] {false, true}) {
                try (TestServer server = new TestServer();
                        TestFolder folder = new TestFolder()) {
                    server.add("text");
                    server.coding = coding;
                    server.isOnlyLabelled = isOnlyLabelled;
                    PushClient client = server.client(folder.store());
                    if (isOnlyLabelled) Check.equal(Check.firstSyncFails(client).interference().kind(), Interference.Kind.TRUNCATED, coding);
                    else Check.equal(client.sync().value().notifications().get(0).text(), "text", coding);
                }
            }
        }
        try (TestServer server = new TestServer();
                TestFolder folder = new TestFolder()) {
            long id = server.add(String.join("", Collections.nCopies(100_000, "bomb ")));
            server.coding = "gzip";
            PushClient client = new PushClient(server.options().answerLimit(10_000), ALICE, folder.store());
            PushClientException error = Check.fails(() -> client.notification(id), PushClientException.Reason.INTERFERENCE);
            Check.equal(error.interference().kind(), Interference.Kind.OVERSIZED, "the kind");
        }
    }
}
