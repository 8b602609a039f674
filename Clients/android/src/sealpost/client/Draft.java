package sealpost.client;

import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The next state of an account, before its commit. */
final class Draft {
    /**
     * The limit of the entries' contents, in units of 256 bytes. Beyond this limit the oldest
     * entries lose their payloads, which can still be fetched one by one.
     */
    private static final long MAXIMUM_UNITS = (32 << 20) / 256;

    final long commit;
    final Index index;
    /** The new contents, by the number of their file. */
    final TreeMap<Integer, byte[]> contents = new TreeMap<>();

    private final Account.Snapshot base;
    private final Map<Long, CachedItem> fresh = new LinkedHashMap<>();
    private int next = 0;

    /**
     * If the latest commit exists only in memory, this draft has the same number, and replaces it.
     */
    Draft(Account.Snapshot base) {
        this.base = base;
        this.commit = base.written() + 1;
        this.index = base.index.copy();
        if (base.unwritten == null || base.unwritten.isEmpty()) return;
        contents.putAll(base.unwritten);
        next = contents.lastKey() + 1;
    }

    /** Throws if an answer is for another account, which this state has replaced. */
    void require(@Nullable String answered) throws PushClientException {
        boolean isOther = answered != null && index.account != null && !answered.equals(index.account);
        if (isOther) throw PushClientException.signedOut();
    }

    /** The bytes of the new contents. */
    long size() {
        long size = 0;
        for (byte[] content : contents.values()) size += content.length;
        return size;
    }

    boolean isChanged() {
        return !index.equals(base.index);
    }

    /** The facts of the new entries. */
    List<Facts> facts() {
        List<Facts> facts = new ArrayList<>();
        for (CachedItem cached : fresh.values()) facts.add(new Facts(cached.item, index.entries.get(cached.item.id())));
        return facts;
    }

    /** An entry in the next state; null if the entry is missing or unreadable. */
    @Nullable CachedItem entry(long id) throws PushClientException {
        CachedItem cached = fresh.get(id);
        if (cached != null || !index.entries.containsKey(id)) return cached;
        return base.entry(id);
    }

    /** Stores an entry after all other entries. */
    void append(CachedItem cached) {
        Index.Place old = index.entries.remove(cached.item.id());
        if (old != null && old.commit == commit) contents.remove(old.number);
        index.pushed.remove(cached.item.id());
        put(cached);
    }

    /** Stores an entry, which keeps its position if it has one. */
    void put(CachedItem cached) {
        long id = cached.item.id();
        Index.Place old = index.entries.get(id);
        if (old != null && old.commit == commit) contents.remove(old.number);
        index.entries.put(id, add(cached.encode()));
        index.deletions.remove(id);
        index.earliestExpiry = Math.min(index.earliestExpiry, cached.item.expiresMillis());
        fresh.put(id, cached);
    }

    /** Deletes an entry, and records the deletion, even of a missing entry. */
    void remove(long id) {
        Index.Place old = index.entries.remove(id);
        if (old != null && old.commit == commit) contents.remove(old.number);
        fresh.remove(id);
        index.pushed.remove(id);
        index.deletions.remove(id);
        index.deletions.put(id, commit);
    }

    /**
     * Deletes entries that have expired by the server's time. The device's clock is not used,
     * because it may be wrong.
     */
    void expire(@Nullable Long serverTime) throws PushClientException {
        if (serverTime == null || serverTime < index.earliestExpiry) return;
        long earliest = Long.MAX_VALUE;
        for (long id : new ArrayList<>(index.entries.keySet())) {
            CachedItem cached = entry(id);
            if (cached == null) continue;
            if (cached.item.expiresMillis() <= serverTime) remove(id);
            else earliest = Math.min(earliest, cached.item.expiresMillis());
        }
        index.earliestExpiry = earliest;
    }

    /** Adds a content to the commit. */
    Index.Place add(byte[] content) {
        int number = next++;
        contents.put(number, content);
        return Index.Place.of(commit, number, content);
    }

    /**
     * Whether an entry has not changed since a commit. If so, the answer to a request made at that
     * commit has the latest state.
     */
    boolean isUntouched(long id, long since) {
        Index.Place place = index.entries.get(id);
        Long deleted = index.deletions.get(id);
        return (place == null || place.commit <= since) && (deleted == null || deleted <= since)
                && index.forgottenUpTo <= since;
    }

    boolean wasDeletedAfter(long id, long since) {
        Long deleted = index.deletions.get(id);
        return deleted != null && deleted > since && deleted < commit;
    }

    /** Enforces the limits. */
    void finish() throws PushClientException {
        shrink();
        while (index.deletions.size() > Index.MAXIMUM_DELETIONS) forgetDeletion();
        while (index.marks.size() > Index.MAXIMUM_MARKS) index.marks.remove(index.marks.keySet().iterator().next());
        while (index.encode().length > Index.MAXIMUM_BYTES && !index.entries.isEmpty()) {
            List<Long> ids = new ArrayList<>(index.entries.keySet());
            for (long id : ids.subList(0, ids.size() / 32 + 1)) remove(id);
            while (index.deletions.size() > Index.MAXIMUM_DELETIONS) forgetDeletion();
        }
    }

    private void forgetDeletion() {
        Map.Entry<Long, Long> oldest = index.deletions.entrySet().iterator().next();
        index.forgottenUpTo = Math.max(index.forgottenUpTo, oldest.getValue());
        index.deletions.remove(oldest.getKey());
    }

    private void shrink() throws PushClientException {
        long units = 0;
        for (Index.Place place : index.entries.values()) units += place.units;
        for (Map.Entry<Long, Index.Place> entry : new LinkedHashMap<>(index.entries).entrySet()) {
            if (units <= MAXIMUM_UNITS) return;
            CachedItem cached = entry(entry.getKey());
            if (cached == null || cached.item.payload() == null) continue;
            replaceInPlace(new CachedItem(cached.item.withoutPayload(), null, cached.date));
            units -= entry.getValue().units - index.entries.get(entry.getKey()).units;
        }
    }

    /** Replaces the content of an entry, which keeps its position. */
    private void replaceInPlace(CachedItem cached) {
        Index.Place old = index.entries.get(cached.item.id());
        if (old != null && old.commit == commit) contents.remove(old.number);
        index.entries.put(cached.item.id(), add(cached.encode()));
        fresh.put(cached.item.id(), cached);
    }

    /** The end-to-end messages that the account has opened. */
    SeenMessages messages() throws PushClientException {
        return SeenMessages.decode(index.messages == null ? null : base.content(index.messages));
    }

    void put(SeenMessages seen) {
        Index.Place old = index.messages;
        if (old != null && old.commit == commit) contents.remove(old.number);
        index.messages = add(seen.encode());
    }

    /**
     * Whether a new content belongs to the outbox or to the messages, so that the file will be its
     * only copy.
     */
    boolean isOnlyCopy(int number) {
        Index.Place messages = index.messages;
        if (messages != null && messages.commit == commit && messages.number == number) return true;
        for (Index.Task task : index.outbox) {
            if (task.payload != null && task.payload.commit == commit && task.payload.number == number) return true;
        }
        return false;
    }

    /** All contents that an index refers to. */
    static List<Index.Place> places(Index index) {
        List<Index.Place> places = new ArrayList<>(index.entries.values());
        for (Index.Task task : index.outbox) {
            if (task.payload != null) places.add(task.payload);
        }
        if (index.messages != null) places.add(index.messages);
        return places;
    }

    Set<Long> ids() {
        return new HashSet<>(index.entries.keySet());
    }
}
