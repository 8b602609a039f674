package sealpost.client;

import androidx.annotation.Nullable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * The content of an entry: a notification, its validator, and when the server last confirmed the
 * notification.
 */
final class CachedItem {
    private static final int MAXIMUM_TAG = 1024;

    final NotificationItem item;
    final @Nullable String tag;
    final long date;

    CachedItem(NotificationItem item, @Nullable String tag, long date) {
        this.item = item;
        // The server's tags are shorter. A longer tag is dropped, so the next fetch is
        // unconditional.
        this.tag = tag == null || tag.length() > MAXIMUM_TAG ? null : tag;
        this.date = date;
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeLong(date);
            out.writeUTF(tag == null ? "" : tag);
            out.write(item.json().bytes());
        } catch (IOException never) {
            throw new IllegalStateException("memory can be written", never);
        }
        return bytes.toByteArray();
    }

    /** The decoded content; null if another version wrote it. */
    static @Nullable CachedItem decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            long date = in.readLong();
            String tag = in.readUTF();
            byte[] json = new byte[in.available()];
            in.readFully(json);
            NotificationItem item = NotificationItem.read(Json.read(json));
            return item == null ? null : new CachedItem(item, tag.isEmpty() ? null : tag, date);
        } catch (IOException | JsonException other) {
            return null;
        }
    }
}
