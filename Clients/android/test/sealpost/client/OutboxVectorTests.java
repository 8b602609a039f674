package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Tests how an answer changes a waiting task, and how a late answer changes the inbox. */
public final class OutboxVectorTests {
    private OutboxVectorTests() {}

    public static void outboxOutcomesMatchTheVectors() throws Exception {
        Json file = Vectors.read("outbox");
        Set<String> outcomes = new HashSet<>();
        for (Json vector : file.get("answers").elements()) {
            // This vector does not apply: this client marks several notifications as read in one
            // request.
            if (vector.get("task").string().equals("read") && vector.get("method").string().equals("PATCH")) continue;
            for (Json lists : file.get("lists").elements()) {
                if (lists.isTrue("isRead") != vector.isTrue("wasRead")) continue;
                outcomes.add(vector.get("outcome").string());
                follow(vector, lists, file.get("deviceTime").integer());
            }
        }
        Check.equal(outcomes, new HashSet<>(Arrays.asList("done", "waits", "failed")), "outcomes");
    }

    private static void follow(Json vector, Json lists, long deviceTime) throws Exception {
        String name = vector.get("name").string();
        String task = vector.get("method").string() + " " + vector.get("path").string();
        Set<String> asked = Collections.synchronizedSet(new TreeSet<String>());
        VectorPeer.Script script = (request, query, condition) -> {
            asked.add(request);
            if (request.equals(task)) return vector.get("answer");
            if (request.equals("GET /api/notifications")) return lists.get(condition == null ? "list" : "unchanged");
            return request.equals("DELETE /api/notifications/8") ? noContent() : null;
        };
        try (VectorPeer peer = new VectorPeer(script);
                TestFolder folder = new TestFolder()) {
            PushClient client = peer.client(folder.store(), deviceTime);
            client.sync();
            perform(client, vector.get("task").string());
            client.outbox().dismiss(8);
            long wait = -1;
            try {
                client.outbox().flush();
            } catch (PushClientException error) {
                // interference.json covers the other errors.
                if (error.reason() == PushClientException.Reason.BUSY) wait = error.retryAfterSeconds();
            }
            Long due = vector.get("retryAfter").integer();
            Check.equal(wait, due == null ? -1L : due, name + ": how long to wait");
            String outcome = vector.get("outcome").string();
            Check.equal(client.outbox().count(), outcome.equals("waits") ? 2 : 0, name + ": what waits");
            Check.equal(asked.contains("DELETE /api/notifications/8"), !outcome.equals("waits"), name + ": what is behind it");
            List<String> codes = new ArrayList<>();
            for (Outbox.Failure failed : client.outbox().failures()) codes.add(failed.code());
            List<String> failures = outcome.equals("failed")
                    ? Collections.singletonList(vector.get("code").string())
                    : Collections.<String>emptyList();
            Check.equal(codes, failures, name + ": failures");
            try {
                client.sync();
            } catch (PushClientException refused) {
                Check.equal(refused.reason(), PushClientException.Reason.UNAUTHORIZED, name);
            }
            Boolean shown = null;
            for (NotificationItem item : client.cachedInbox().notifications()) {
                if (item.id() == 7) shown = item.isRead();
            }
            Json expected = vector.get("shown").get("Read");
            Check.equal(shown, expected == null ? null : expected.bool(), name + ": shown");
        }
    }

    public static void aProxysRefusalOfALargeMessageBlocksNoOtherTask() throws Exception {
        Json file = Vectors.read("outbox"), lists = file.get("lists").elements().get(0);
        Json refusal = noContent().replacing("status", Json.of(413)).replacing("hasEcho", Json.of(false));
        Set<String> asked = Collections.synchronizedSet(new TreeSet<String>());
        VectorPeer.Script script = (request, query, condition) -> {
            asked.add(request);
            if (request.equals("POST /api/notifications")) return refusal;
            if (request.equals("GET /api/notifications")) return lists.get(condition == null ? "list" : "unchanged");
            return request.equals("DELETE /api/notifications/8") ? noContent() : null;
        };
        try (VectorPeer peer = new VectorPeer(script);
                TestFolder folder = new TestFolder()) {
            PushClient client = peer.client(folder.store(), file.get("deviceTime").integer());
            // The first answer confirms the token, so the message needs no other request.
            client.sync();
            String key = client.outbox().send(Json.of("much"));
            client.outbox().dismiss(8);
            Check.that(client.sync().isFresh() && asked.contains("DELETE /api/notifications/8"), "the other task is sent");
            client.outbox().flush();
            List<Outbox.Failure> failures = client.outbox().failures();
            Check.equal(failures.size(), 1, "the failures");
            Check.equal(failures.get(0).key() + failures.get(0).code(), key + "payload-too-large", "the failure");
            // Anybody can forge the answer.
            Check.equal(client.outbox().count(), 1, "the message still waits");
            client.outbox().discard(failures.get(0));
            Check.equal(client.outbox().count() + client.outbox().failures().size(), 0, "what is left");
        }
    }

    public static void lateAnswersMatchTheVectors() throws Exception {
        Json file = Vectors.read("late");
        for (Json vector : file.get("cases").elements()) new Late(vector, file.get("deviceTime").integer()).follow();
    }

    /** A script whose answer arrives late. */
    private static final class Late implements VectorPeer.Script {
        private final Json vector;
        private final long deviceTime;
        private final String name;
        private final List<Json> due = new ArrayList<>();
        private final CountDownLatch isAsked = new CountDownLatch(1);
        private final CountDownLatch mayArrive = new CountDownLatch(1);
        private final AtomicBoolean isReachable = new AtomicBoolean();
        private final List<String> problems = Collections.synchronizedList(new ArrayList<String>());

        Late(Json vector, long deviceTime) {
            this.vector = vector;
            this.deviceTime = deviceTime;
            this.name = vector.get("name").string();
            due.addAll(vector.get("before").elements());
            due.add(vector.get("late"));
            if (vector.get("page").get("call") != null) due.add(vector.get("page"));
            due.add(vector.get("next"));
            isReachable.set(vector.isTrue("isReachable"));
        }

        void follow() throws Exception {
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try (VectorPeer peer = new VectorPeer(this);
                    TestFolder folder = new TestFolder()) {
                PushClient client = peer.client(folder.store(), deviceTime);
                for (Json exchange : vector.get("before").elements()) call(client, exchange);
                Future<Void> arrival = thread.submit(() -> call(client, vector.get("late")));
                Check.that(isAsked.await(30, TimeUnit.SECONDS), name + ": it was asked for");
                String event = vector.get("event").string();
                if (vector.get("page").get("call") != null) {
                    client.sync();
                } else if (!event.equals("nothing")) {
                    perform(client, event);
                    if (vector.isTrue("isReachable")) client.outbox().flush();
                }
                mayArrive.countDown();
                arrival.get(30, TimeUnit.SECONDS);
                Check.equal(items(client), vector.get("after").toString(), name);
                isReachable.set(true);
                Check.that(client.sync().isFresh(), name + ": fresh");
                Check.equal(items(client), vector.get("finally").toString(), name + ", in the end");
                Check.equal(problems, Collections.<String>emptyList(), name);
            } finally {
                mayArrive.countDown();
                thread.shutdownNow();
            }
        }

        @Override
        public @Nullable Json answer(String request, String query, @Nullable String condition) throws Exception {
            if (!request.startsWith("GET ")) {
                for (Json answered : vector.get("answers").elements()) {
                    boolean isIt = request.equals(answered.get("method").string() + " " + answered.get("path").string());
                    if (isIt && isReachable.get()) return answered.get("answer");
                }
                return null;
            }
            Json exchange = take(query.startsWith("ids=") ? "shown" : request.endsWith("/7") ? "notification" : "list");
            if (exchange == null) {
                problems.add(request + " was not due");
                return null;
            }
            String wanted = exchange.get("condition").string();
            boolean isAsDue = wanted == null ? condition == null : wanted.equals(condition);
            if (!isAsDue) problems.add(request + " was asked for on the condition " + condition);
            if (exchange == vector.get("late")) {
                isAsked.countDown();
                mayArrive.await();
            }
            return exchange.get("answer");
        }

        private synchronized @Nullable Json take(String call) {
            for (Json exchange : due) {
                if (!exchange.get("call").string().equals(call)) continue;
                due.remove(exchange);
                return exchange;
            }
            return null;
        }

        private static Void call(PushClient client, Json exchange) throws PushClientException {
            switch (exchange.get("call").string()) {
                case "notification":
                    client.notification(7);
                    break;
                case "shown":
                    client.preview(7);
                    break;
                default:
                    client.sync();
            }
            return null;
        }

        private static String items(PushClient client) throws PushClientException {
            TreeSet<Long> ids = new TreeSet<>();
            for (NotificationItem item : client.cachedInbox().notifications()) ids.add(item.id());
            List<Json> items = new ArrayList<>();
            for (long id : ids) {
                boolean isRead = client.cachedNotification(id).isRead();
                items.add(Json.object().with("Id", Json.of(id)).with("Read", Json.of(isRead)));
            }
            return Json.array(items).toString();
        }
    }

    private static void perform(PushClient client, String task) throws PushClientException {
        switch (task) {
            case "read":
                client.outbox().markRead(7, true);
                break;
            case "unread":
                client.outbox().markRead(7, false);
                break;
            case "dismiss":
                client.outbox().dismiss(7);
                break;
            default:
                client.outbox().send(Json.of("a"));
        }
    }

    private static Json noContent() throws JsonException {
        return Json.read("{\"status\":204,\"fields\":[],\"body\":\"\",\"hasEcho\":true}".getBytes(StandardCharsets.UTF_8));
    }
}
