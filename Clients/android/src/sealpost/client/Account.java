package sealpost.client;

import androidx.annotation.Nullable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The stored state of one account, which changes one commit at a time.
 *
 * <p>A commit is a folder {@code c…} with an index and the contents that are new in it. The client
 * creates the folder under another name and renames it in one step, which fails if the commit's
 * folder exists. So, if two changes are based on the same commit, one succeeds and the other is
 * made again. After a crash the latest commit is either the previous or the new one, and complete.
 * An index also refers to contents that older commits have written; each commit removes the
 * contents that are no longer in use.
 */
final class Account {
    /**
     * The number of latest commits whose indexes stay stored. A reader may have found a commit
     * just before the next one.
     */
    private static final int KEPT = 4;

    private static final int ATTEMPTS = 500;
    /** The largest contents in memory, in bytes: four pages of 500 short notifications. */
    private static final int MAXIMUM_IN_MEMORY = 4 << 20;
    private static final String INDEX = "index";
    /** A folder with one empty file; the file's name identifies this sign-in. */
    private static final String SIGN_IN = "i";

    private final Store store;
    private final String name;
    /** The user name that the app gave, {@link Credentials#account}. */
    private final String user;
    private volatile @Nullable File folder;
    private volatile @Nullable String signIn;
    /**
     * The state with changes that are only in memory, because the disk was full; null if there are
     * no such changes.
     */
    private volatile @Nullable Snapshot memory;
    /** The latest state that was read from the disk; null before the first read. */
    private volatile @Nullable Snapshot last;
    private final Object factsLock = new Object();
    /** The facts of the entries that {@link #facts} has read. */
    private Map<Long, Facts> known = new LinkedHashMap<>();
    /** The state to which {@link #known} belongs. */
    private @Nullable Snapshot knownFrom;

    Account(Store store, String name, String user) {
        this.store = store;
        this.name = name;
        this.user = user;
    }

    /** The state after a commit. */
    final class Snapshot {
        final long commit;
        final Index index;
        /** The contents of this commit while it exists only in memory; null if it is on the disk. */
        final @Nullable Map<Integer, byte[]> unwritten;

        Snapshot(long commit, Index index, @Nullable Map<Integer, byte[]> unwritten) {
            this.commit = commit;
            this.index = index;
            this.unwritten = unwritten;
        }

        /** The number of the latest commit on the disk, which other processes know, too. */
        long written() {
            return unwritten == null ? commit : commit - 1;
        }

        /** The content of an entry; null if it is missing, damaged, or replaced meanwhile. */
        @Nullable CachedItem entry(long id) throws PushClientException {
            Index.Place place = index.entries.get(id);
            byte[] content = place == null ? null : content(place);
            return content == null ? null : CachedItem.decode(content);
        }

        @Nullable byte[] content(Index.Place place) throws PushClientException {
            if (unwritten != null && place.commit == commit) return unwritten.get(place.number);
            return Account.this.content(place);
        }
    }

    /**
     * The facts of all readable entries, in the inbox's order. Reads only the files that are new
     * since the last call.
     */
    Map<Long, Facts> facts(Snapshot now) throws PushClientException {
        synchronized (factsLock) {
            if (knownFrom == now && known.size() == now.index.entries.size()) return known;
            Map<Long, Facts> all = new LinkedHashMap<>();
            // The facts of a commit that was only in memory are not reused, because another
            // process may have used its number.
            boolean isReusable = knownFrom == null || knownFrom.unwritten == null;
            for (Map.Entry<Long, Index.Place> entry : now.index.entries.entrySet()) {
                Facts facts = isReusable ? known.get(entry.getKey()) : null;
                if (facts == null || !facts.place.isSame(entry.getValue())) {
                    CachedItem cached = now.entry(entry.getKey());
                    if (cached == null) continue;
                    facts = new Facts(cached.item, entry.getValue());
                }
                all.put(entry.getKey(), facts);
            }
            knownFrom = now;
            return known = all;
        }
    }

    /** Adds the facts of a commit's new entries, whose files {@link #facts} then need not read. */
    private void learn(Draft draft) {
        synchronized (factsLock) {
            boolean isReusable = knownFrom == null || knownFrom.unwritten == null;
            Map<Long, Facts> all = isReusable ? new LinkedHashMap<>(known) : new LinkedHashMap<Long, Facts>();
            for (Facts facts : draft.facts()) all.put(facts.id, facts);
            known = all;
            knownFrom = null;
        }
    }

    /** A change of a draft. A retry runs it again on another commit. */
    interface Change<R> {
        R make(Draft draft) throws PushClientException;
    }

    /** The state after the latest commit. */
    Snapshot read() throws PushClientException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            File folder = open();
            long commit = latest(folder);
            Snapshot memory = this.memory;
            // A commit of another process replaces the state in memory, which is then fetched again.
            if (memory != null && memory.commit == commit + 1) return memory;
            if (commit == 0) return new Snapshot(0, new Index(), null);
            Snapshot last = this.last;
            // A commit never changes, and nothing changes an index that was read.
            if (last != null && last.commit == commit) return last;
            try {
                Index index = index(folder, commit);
                if (index == null) return new Snapshot(commit, salvaged(folder, commit), null);
                return this.last = new Snapshot(commit, index, null);
            } catch (FileNotFoundException replaced) {
                pause(attempt);
            } catch (IOException | GeneralSecurityException error) {
                throw Store.storage(error);
            }
        }
        throw busy();
    }

    /** The index of a commit; null if it is damaged. */
    private @Nullable Index index(File folder, long commit) throws IOException, GeneralSecurityException, PushClientException {
        byte[] sealed = Files.read(new File(commitFolder(folder, commit), INDEX));
        byte[] bytes = store.sealer().open(sealed, place(commit, INDEX));
        return bytes == null ? null : Index.decode(bytes);
    }

    /**
     * If the latest index is damaged, the index on which the next commit is based: the newest
     * readable earlier index, or an empty index.
     *
     * <p>With the old cursor the client fetches all later changes again. It sends the tasks of the
     * old outbox again, with the same keys. After an empty index, consumers receive the full list.
     */
    private Index salvaged(File folder, long damaged) throws IOException, GeneralSecurityException, PushClientException {
        for (long commit = damaged - 1; commit > 0 && commit > damaged - KEPT; commit--) {
            try {
                Index index = index(folder, commit);
                if (index != null) return index;
            } catch (FileNotFoundException removed) {
                // A later commit has removed this index.
            }
        }
        Index index = new Index();
        index.forgottenUpTo = damaged;
        return index;
    }

    /** Commits a change, unless it leaves the state unchanged. */
    <R> R change(Change<R> change) throws PushClientException {
        return change(change, false);
    }

    /**
     * Commits a change that can be fetched from the server again. If the disk is full, the change
     * stays in memory, and the next commit writes it together with its own change.
     */
    <R> R cache(Change<R> change) throws PushClientException {
        return change(change, true);
    }

    private synchronized <R> R change(Change<R> change, boolean isOfServer) throws PushClientException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Snapshot base = read();
            Draft draft = new Draft(base);
            R result = change.make(draft);
            if (!draft.isChanged()) return result;
            try {
                if (commit(base, draft)) {
                    memory = null;
                    learn(draft);
                    return result;
                }
            } catch (PushClientException unwritten) {
                if (!isOfServer || unwritten.reason() != PushClientException.Reason.STORAGE) throw unwritten;
                draft.finish();
                if (draft.size() > MAXIMUM_IN_MEMORY) throw unwritten;
                memory = new Snapshot(draft.commit, draft.index, draft.contents);
                return result;
            }
            pause(attempt);
        }
        throw busy();
    }

    /**
     * The latest index. If the files are unreadable or the sign-in has ended, the index that this
     * client has read last; an empty index if it has read none.
     */
    Index lastIndex() {
        try {
            return read().index;
        } catch (PushClientException unreadable) {
            Snapshot last = this.last;
            return last == null ? new Index() : last.index;
        }
    }

    /** Stores the order to end the session and the device of an account. */
    interface Ending {
        void store(Index former) throws PushClientException;
    }

    /**
     * Stores the identifier and the token of a sign-in, unless they are null.
     *
     * <p>A different identifier belongs to a different account. Tasks that were made before the
     * first answer belong to the user name that the app gave. The client first removes the state
     * of another account, which signs out that account's other clients.
     *
     * @param user the user who signs in, as in {@link Credentials#account}
     * @param ending is called before the state of another account is removed
     * @return whether the state was that of another account
     */
    synchronized boolean begin(
            final @Nullable String id, final @Nullable String token, String user, Ending ending) throws PushClientException {
        Index before = read().index;
        boolean isOther = before.account == null
                ? !before.outbox.isEmpty() && !Answer.lowered(user).equals(Answer.lowered(this.user))
                : id != null && !id.equals(before.account);
        if (isOther) {
            ending.store(before);
            remove();
            signIn = null;
            memory = null;
            last = null;
        }
        change(new Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                if (id != null) draft.index.account = id;
                if (token != null) draft.index.token = token;
                return null;
            }
        });
        return isOther;
    }

    /**
     * Removes the account's folder. After the first step the account has ended; this step needs no
     * free space on the disk.
     *
     * <p>Other clients of this sign-in can no longer write. Throws if the folder cannot be
     * removed. Returns false if this sign-in had ended before.
     */
    synchronized boolean remove() throws PushClientException {
        // A full disk has no space for the keys of an unused store, which the folder's name needs.
        if (!store.isUsed()) {
            boolean isFirst = signIn == null;
            signIn = "";
            return isFirst;
        }
        File folder = store.account(name);
        String[] names = Files.names(new File(folder, SIGN_IN));
        // If the file with the sign-in's name has another name, it belongs to a later sign-in,
        // whose files stay.
        boolean isSignedIn = signIn == null || names.length > 0 && signIn.equals(names[0]);
        if (isSignedIn && names.length > 0) {
            Files.remove(folder);
            File mark = new File(new File(folder, SIGN_IN), names[0]);
            // If the rename failed, this file still exists. Without it no file of the folder can
            // be decrypted.
            if (mark.delete()) Files.removeAll(folder);
            if (mark.exists()) throw Store.storage(new IOException("a file of the store cannot be deleted"));
        }
        if (signIn == null) signIn = "";
        return isSignedIn;
    }

    // Commits

    private boolean commit(Snapshot base, Draft draft) throws PushClientException {
        File folder = open();
        String commitName = Files.hexadecimal(Files.random(8));
        draft.index.addToHistory(commitName);
        File made = null;
        try {
            made = Files.makeFolder(folder);
            // The new folder is inside the sign-in's folder, so a later sign-out removes it, too.
            if (!open().equals(folder)) return false;
            draft.finish();
            write(made, draft);
            Files.write(new File(made, INDEX), store.sealer().seal(draft.index.encode(), place(draft.commit, INDEX)));
            if (!Files.claim(made, commitFolder(folder, draft.commit))) {
                Files.remove(made);
                return false;
            }
        } catch (IOException | GeneralSecurityException error) {
            if (made != null) Files.remove(made);
            // Another process may have removed the folder; this throws then.
            open();
            throw Store.storage(error);
        }
        // If this process was suspended for long, its new commit may have the name of an old
        // commit that was removed meanwhile.
        if (latest(folder) != draft.commit && !read().index.history.contains(commitName)) return false;
        clean(folder, base.index, draft);
        return true;
    }

    /** Writes the contents of a commit into its folder. */
    private void write(File made, Draft draft) throws IOException, GeneralSecurityException, PushClientException {
        Map<String, Map<Integer, byte[]>> boxes = new LinkedHashMap<>();
        for (Map.Entry<Integer, byte[]> content : draft.contents.entrySet()) {
            int number = content.getKey();
            String name = Integer.toString(number);
            byte[] sealed = store.sealer().seal(content.getValue(), place(draft.commit, name));
            // 500 syncs for a page take seconds on a phone. A content that cannot be fetched again
            // needs a sync, and thus a file of its own.
            if (draft.isOnlyCopy(number)) {
                Files.write(new File(made, name), sealed);
                continue;
            }
            Map<Integer, byte[]> box = boxes.get(Box.name(number));
            if (box == null) boxes.put(Box.name(number), box = new LinkedHashMap<>());
            box.put(number, sealed);
        }
        for (Map.Entry<String, Map<Integer, byte[]>> box : boxes.entrySet()) Box.write(new File(made, box.getKey()), box.getValue());
    }

    private void clean(File folder, Index before, Draft draft) {
        Set<String> used = paths(draft.index);
        Set<String> boxes = new HashSet<>();
        for (Index.Place place : Draft.places(before)) {
            if (used.contains(path(place))) continue;
            delete(folder, place.commit, Integer.toString(place.number));
            String box = Box.name(place.number);
            if (boxes.add(place.commit + "/" + box)) clean(folder, place.commit, box, used);
        }
        if (draft.commit > KEPT) delete(folder, draft.commit - KEPT, INDEX);
    }

    /** Erases the contents of a box that are not in use; deletes the box if none is. */
    private static void clean(File folder, long commit, String box, Set<String> used) {
        boolean[] isUsed = new boolean[Box.SLOTS];
        int count = 0;
        for (int slot = 0; slot < Box.SLOTS; slot++) {
            isUsed[slot] = used.contains(commit + "/" + (Box.first(box) + slot));
            if (isUsed[slot]) count++;
        }
        try {
            if (count == 0) delete(folder, commit, box);
            else if (count < Box.SLOTS) Box.erase(new File(commitFolder(folder, commit), box), isUsed);
        } catch (IOException later) {
            // The next start erases the contents.
        }
    }

    private static void delete(File folder, long commit, String file) {
        File commitFolder = commitFolder(folder, commit);
        new File(commitFolder, file).delete();
        // Fails while the folder has files.
        commitFolder.delete();
    }

    /** Removes files that crashes left behind. */
    private void sweep(File folder) throws PushClientException {
        Files.sweep(folder, System.currentTimeMillis());
        Snapshot now = read();
        Set<String> used = paths(now.index);
        for (String name : Files.names(folder)) {
            long commit = number(name);
            if (commit == 0 || commit > now.commit) continue;
            for (String file : Files.names(new File(folder, name))) {
                boolean isUsed = file.equals(INDEX) ? commit > now.commit - KEPT : used.contains(commit + "/" + file);
                if (Box.first(file) >= 0) clean(folder, commit, file, used);
                else if (!isUsed) delete(folder, commit, file);
            }
            new File(folder, name).delete();
        }
    }

    private @Nullable byte[] content(Index.Place place) throws PushClientException {
        File folder = commitFolder(open(), place.commit);
        String number = Integer.toString(place.number);
        try {
            byte[] sealed = Box.read(new File(folder, Box.name(place.number)), place.number);
            // Earlier versions wrote each content into a file of its own.
            if (sealed == null) sealed = Files.read(new File(folder, number));
            return store.sealer().open(sealed, place(place.commit, number));
        } catch (FileNotFoundException replaced) {
            return null;
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    // Names

    /**
     * The account's folder, which the client's first call creates. Throws if the folder no longer
     * belongs to this sign-in.
     */
    private File open() throws PushClientException {
        File folder = this.folder;
        if (folder == null) this.folder = folder = store.account(name);
        File place = new File(folder, SIGN_IN);
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            // Read before the names: another thread may create the sign-in in between.
            String own = signIn;
            String[] names = Files.names(place);
            if (names.length == 0 && own != null) throw PushClientException.signedOut();
            if (names.length > 0) {
                if (own == null) {
                    signIn = own = names[0];
                    sweep(folder);
                }
                if (!own.equals(names[0])) throw PushClientException.signedOut();
                return folder;
            }
            try {
                if (!folder.mkdir() && !folder.isDirectory()) throw new IOException("a folder of the store cannot be created");
                File made = Files.makeFolder(folder);
                Files.write(new File(made, Files.hexadecimal(Files.random(8))), new byte[0]);
                if (!Files.claim(made, place)) Files.remove(made);
            } catch (IOException error) {
                if (attempt + 1 == ATTEMPTS) throw Store.storage(error);
            }
        }
        throw busy();
    }

    /** The place to which a content's encryption is bound. */
    private String place(long commit, String file) {
        return name + '\n' + signIn + '\n' + commit + '/' + file;
    }

    /** The paths of all contents that an index refers to. */
    private static Set<String> paths(Index index) {
        Set<String> paths = new HashSet<>();
        for (Index.Place place : Draft.places(index)) paths.add(path(place));
        return paths;
    }

    private static String path(Index.Place place) {
        return place.commit + "/" + place.number;
    }

    private static File commitFolder(File folder, long commit) {
        return new File(folder, "c" + commit);
    }

    private static long latest(File folder) {
        long latest = 0;
        for (String name : Files.names(folder)) latest = Math.max(latest, number(name));
        return latest;
    }

    /** The number in a commit's name; 0 for other names. */
    private static long number(String name) {
        // This function uses no regular expression, because an account may have thousands of
        // folders.
        if (name.length() < 2 || name.length() > 19 || name.charAt(0) != 'c' || name.charAt(1) == '0') return 0;
        long number = 0;
        for (int index = 1; index < name.length(); index++) {
            char digit = name.charAt(index);
            if (digit < '0' || digit > '9') return 0;
            number = number * 10 + digit - '0';
        }
        return number;
    }

    private static void pause(int attempt) throws PushClientException {
        try {
            Thread.sleep(Math.min(attempt, 20));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw Store.storage(interrupted);
        }
    }

    static PushClientException busy() {
        return PushClientException.of(
                PushClientException.Reason.STORAGE, "other processes keep changing the store; try again", null);
    }
}
