package sealpost.client;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

/**
 * Passes the answers of one history of {@code histories.json} to a client, one after the other.
 */
final class History {
    private History() {}

    static void run(Json history, TestFolder folder, Vectors vectors) throws Exception {
        long[] deviceTime = {0};
        Options options = new Options("https://push.example", Signatures.unsigned()).clock(() -> deviceTime[0]);
        PushClient client = new PushClient(options, Credentials.token("spt_", "alice"), folder.store());
        AnswerCheck check = new AnswerCheck(vectors.verifier());
        int number = 0;
        for (Json step : history.get("steps").elements()) {
            String name = history.get("name").string() + ", step " + ++number;
            deviceTime[0] = step.get("deviceTime").integer() * 1000;
            apply(step, client, check, deviceTime[0], name);
        }
        // Another client with the same folder has the same inbox.
        PushClient other = new PushClient(options, Credentials.token("spt_", "alice"), folder.store());
        Check.equal(other.cachedInbox().notifications(), client.cachedInbox().notifications(), "what is on the disk");
    }

    private static void apply(Json step, PushClient client, AnswerCheck check, long now, String name) throws Exception {
        Request request = Vectors.request(step.get("request"));
        Sync sync = new Sync(client, client.options.deadline());
        if (step.get("restarts").bool()) sync.restart();
        // The check uses the server's clock: a device's clock that is a day ahead would refuse the
        // answer.
        long serverTime = step.get("serverTime").integer() * 1000;
        Answer answer =
                check.answer(request, Vectors.token(step.get("request")), Vectors.answer(step.get("answer")), null, serverTime);
        String next;
        try {
            next = sync.merge(answer.success(), client.account.read(), now) ? "more" : "done";
        } catch (PushClientException error) {
            Check.equal(error.problem() == null ? null : error.problem().code(), "invalid-cursor", name);
            next = "restart";
        }
        Account.Snapshot state = client.account.read();
        Check.equal(next, step.get("next").string(), name + ": what is next");
        Check.equal(state.index.cursor, step.get("cursor").string(), name + ": the cursor");
        Check.equal(cached(state), items(step.get("cached")), name + ": cached");
        List<Long> shown = new ArrayList<>();
        List<NotificationItem> items = new ArrayList<>(client.cachedInbox().notifications());
        // The vectors sort notifications of the same second by their ids, and the client sorts
        // them as the server's lists do.
        items.sort(Comparator.comparing(NotificationItem::createdAt).thenComparing(NotificationItem::id));
        for (NotificationItem item : items) shown.add(item.id());
        Check.equal(shown, ids(step.get("shown")), name + ": shown");
        List<Long> unstored = new ArrayList<>(new TreeSet<>(sync.unstored.keySet()));
        Check.equal(unstored, ids(step.get("uncached")), name + ": shown this once");
        InboxChanges changes = client.changes("test");
        Check.equal(new ArrayList<>(new TreeSet<>(changes.arrived())), ids(step.get("arrived")), name + ": arrived");
        Check.equal(new ArrayList<>(new TreeSet<>(changes.deleted())), ids(step.get("deleted")), name + ": deleted");
        client.confirm(changes);
        Check.that(client.changes("test").isEmpty(), name + ": nothing is reported twice");
    }

    private static List<String> cached(Account.Snapshot state) throws PushClientException {
        List<String> items = new ArrayList<>();
        for (long id : new TreeSet<>(state.index.entries.keySet())) items.add(state.entry(id).item.json().toString());
        return items;
    }

    private static List<String> items(Json array) {
        List<String> items = new ArrayList<>();
        for (Json item : array.elements()) items.add(item.toString());
        return items;
    }

    private static List<Long> ids(Json array) {
        Long[] ids = new Long[array.elements().size()];
        for (int index = 0; index < ids.length; index++) ids[index] = array.elements().get(index).integer();
        return Arrays.asList(ids);
    }
}
