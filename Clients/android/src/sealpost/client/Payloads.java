package sealpost.client;

import java.util.ArrayList;
import java.util.List;

/** Opens end-to-end payloads, and recognizes messages that have arrived before. */
final class Payloads {
    private final PushClient client;

    Payloads(PushClient client) {
        this.client = client;
    }

    List<OpenedPayload.Result> open(final List<NotificationItem> items, DeviceKeys keys, List<String> senders)
        throws PushClientException {
        String app = client.options.app() == null ? Options.DEFAULT_APP : client.options.app();
        final List<OpenedPayload.Result> results = new ArrayList<>();
        for (NotificationItem item : items) {
            String text = item.payload() == null ? null : item.payload().string();
            try {
                results.add(new OpenedPayload.Result(keys.open(text == null ? "" : text, senders, app, client.options.now() / 1000), null));
            } catch (UnreadablePayloadException unreadable) {
                results.add(new OpenedPayload.Result(null, unreadable.reason()));
            }
        }
        return client.account.cache(new Account.Change<List<OpenedPayload.Result>>() {
            @Override
            public List<OpenedPayload.Result> make(Draft draft) throws PushClientException {
                return admitted(items, results, draft);
            }
        });
    }

    private static List<OpenedPayload.Result> admitted(List<NotificationItem> items, List<OpenedPayload.Result> results, Draft draft)
        throws PushClientException {
        SeenMessages seen = draft.messages();
        List<OpenedPayload.Result> admitted = new ArrayList<>();
        for (int index = 0; index < items.size(); index++) {
            OpenedPayload opened = results.get(index).opened;
            long id = items.get(index).id();
            boolean isReplayed = opened != null && seen.admit(opened.message(), id, opened.sentAt()) != id;
            OpenedPayload.Result replayed = new OpenedPayload.Result(null, UnreadablePayloadException.Reason.REPLAYED);
            admitted.add(isReplayed ? replayed : results.get(index));
        }
        if (!seen.isChanged()) return admitted;
        seen.shrink();
        draft.put(seen);
        return admitted;
    }
}
