package sealpost.client;

import androidx.annotation.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The ids of the messages that an account has opened, each with its notification's id. They are
 * stored because the server could deliver a message again with another notification.
 */
final class SeenMessages {
    static final int MAXIMUM = 5000;

    private static final class Message {
        final String id;
        final long notification;
        final long sentAt;

        Message(String id, long notification, long sentAt) {
            this.id = id;
            this.notification = notification;
            this.sentAt = sentAt;
        }
    }

    private final Map<String, Message> messages = new HashMap<>();
    private boolean isChanged = false;

    /** Reads the messages of a content; a missing or damaged content counts as no messages. */
    static SeenMessages decode(@Nullable byte[] bytes) {
        SeenMessages seen = new SeenMessages();
        if (bytes == null) return seen;
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            while (in.available() > 0) {
                Message message = new Message(in.readUTF(), in.readLong(), in.readLong());
                seen.messages.put(message.id, message);
            }
            return seen;
        } catch (IOException damaged) {
            return new SeenMessages();
        }
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            for (Message message : messages.values()) {
                out.writeUTF(message.id);
                out.writeLong(message.notification);
                out.writeLong(message.sentAt);
            }
        } catch (IOException never) {
            throw new IllegalStateException("memory can be written", never);
        }
        return bytes.toByteArray();
    }

    boolean isChanged() {
        return isChanged;
    }

    /**
     * Records a message, unless it is recorded already. Returns the notification with which the
     * message first arrived.
     */
    long admit(String id, long notification, long sentAt) {
        Message seen = messages.get(id);
        if (seen != null) return seen.notification;
        messages.put(id, new Message(id, notification, sentAt));
        isChanged = true;
        return notification;
    }

    /** Forgets the messages that were sent first, until the limit is met. */
    void shrink() {
        if (messages.size() <= MAXIMUM) return;
        List<Message> all = new ArrayList<>(messages.values());
        Collections.sort(all, new Comparator<Message>() {
            @Override
            public int compare(Message one, Message other) {
                return Long.compare(one.sentAt, other.sentAt);
            }
        });
        for (Message message : all.subList(0, all.size() - MAXIMUM)) messages.remove(message.id);
    }
}
