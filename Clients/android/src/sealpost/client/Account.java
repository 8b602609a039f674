package sealpost.client;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What is kept of one account, changed one commit after the other.
 *
 * <p>A commit is a folder {@code c…} with an index and the contents that are new in it. It is made under another name, and
 * gets its own in one step, only if nobody else has taken that: so of two changes upon the same commit one is made, and the
 * other begins anew. A crash leaves the commit before or the one after. An index names the contents of older commits that are
 * still in use; the rest is removed after each commit.
 */
final class Account {
    /** How many commits keep their index, for whoever has just looked which is the latest. */
    private static final int KEPT = 4;

    private static final int ATTEMPTS = 500;
    private static final String INDEX = "index";
    /** A folder with one empty file, whose name is that of this sign-in. */
    private static final String SIGN_IN = "i";

    private final Store store;
    private final String name;
    private volatile @Nullable File folder;
    private volatile @Nullable String signIn;

    Account(Store store, String name) {
        this.store = store;
        this.name = name;
    }

    /** The state after a commit. */
    final class Snapshot {
        final long commit;
        final Index index;

        Snapshot(long commit, Index index) {
            this.commit = commit;
            this.index = index;
        }

        /** The content of an entry; null if it is not there, damaged, or replaced meanwhile. */
        @Nullable Kept entry(long id) throws PushException {
            Index.Place place = index.entries.get(id);
            byte[] content = place == null ? null : content(place);
            return content == null ? null : Kept.decode(content);
        }

        @Nullable byte[] content(Index.Place place) throws PushException {
            return Account.this.content(place);
        }
    }

    /** A change of a draft, which may be made again upon another commit. */
    interface Change<R> {
        R make(Draft draft) throws PushException;
    }

    /** The state after the latest commit. */
    Snapshot read() throws PushException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            File folder = open();
            long commit = latest(folder);
            if (commit == 0) return new Snapshot(0, new Index());
            try {
                Index index = index(folder, commit);
                return new Snapshot(commit, index == null ? salvaged(folder, commit) : index);
            } catch (FileNotFoundException replaced) {
                pause(attempt);
            } catch (IOException | GeneralSecurityException error) {
                throw Store.storage(error);
            }
        }
        throw busy();
    }

    /** The index of a commit; null if it is damaged. */
    private @Nullable Index index(File folder, long commit) throws IOException, GeneralSecurityException, PushException {
        byte[] sealed = Files.read(new File(commitFolder(folder, commit), INDEX));
        byte[] bytes = store.sealer().open(sealed, place(commit, INDEX));
        return bytes == null ? null : Index.decode(bytes);
    }

    /**
     * What the next commit is made upon where the latest index is damaged: the one before it that can be read, or an empty one.
     *
     * <p>With the old cursor what has changed since is fetched again; what was done since is done again, under the same keys. Of an
     * empty one consumers are told that it is everything.
     */
    private Index salvaged(File folder, long damaged) throws IOException, GeneralSecurityException, PushException {
        for (long commit = damaged - 1; commit > 0 && commit > damaged - KEPT; commit--) {
            try {
                Index index = index(folder, commit);
                if (index != null) return index;
            } catch (FileNotFoundException removed) {
                // The latest indexes alone are there.
            }
        }
        Index index = new Index();
        index.forgottenUpTo = damaged;
        return index;
    }

    /** Makes a change, or nothing if it leaves the state as it is. */
    synchronized <R> R change(Change<R> change) throws PushException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Snapshot base = read();
            Draft draft = new Draft(base, base.commit + 1);
            R result = change.make(draft);
            if (!draft.isChanged()) return result;
            if (commit(base, draft)) return result;
            pause(attempt);
        }
        throw busy();
    }

    /** The latest index; an empty one if the files cannot be read. */
    Index last() {
        try {
            return read().index;
        } catch (PushException unreadable) {
            return new Index();
        }
    }

    /**
     * Keeps the identifier and the token of a sign-in, unless they are null.
     *
     * <p>Another identifier than before is that of another account: what is kept of the old one is
     * removed first, and the old one's other clients have signed out.
     */
    synchronized void begin(final @Nullable String id, final @Nullable String token) throws PushException {
        String before = read().index.account;
        if (id != null && before != null && !id.equals(before)) {
            remove();
            signIn = null;
        }
        change(new Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) {
                if (id != null) draft.index.account = id;
                if (token != null) draft.index.token = token;
                return null;
            }
        });
    }

    /**
     * Removes the account's folder. The first step is decisive, and needs no free space on the disk.
     *
     * <p>Other clients of this sign-in cannot write any more. Throws if no file can be removed.
     */
    synchronized void remove() throws PushException {
        File folder = store.account(name);
        String[] names = Files.names(new File(folder, SIGN_IN));
        // Another mark is that of a later sign-in, whose files stay.
        if (names.length > 0 && (signIn == null || signIn.equals(names[0]))) {
            Files.remove(folder);
            File mark = new File(new File(folder, SIGN_IN), names[0]);
            // If the rename has failed, the mark is still here. Without it no file of the folder opens.
            if (mark.delete()) Files.removeAll(folder);
            if (mark.exists()) throw Store.storage(new IOException("a file cannot be removed"));
        }
        if (signIn == null) signIn = "";
    }

    // Commits

    private boolean commit(Snapshot base, Draft draft) throws PushException {
        File folder = open();
        String commitName = Files.hexadecimal(Files.random(8));
        draft.index.addToHistory(commitName);
        File made = null;
        try {
            made = Files.makeFolder(folder);
            // The folder was made where this sign-in is: if that is taken away now, the folder goes along.
            if (!open().equals(folder)) return false;
            draft.finish();
            for (Map.Entry<Integer, byte[]> content : draft.contents.entrySet()) {
                String number = content.getKey().toString();
                byte[] sealed = store.sealer().seal(content.getValue(), place(draft.commit, number));
                // Five hundred syncs for a page take seconds on a phone. What can be fetched again does without.
                Files.write(new File(made, number), sealed, draft.isOfOutbox(content.getKey()));
            }
            Files.write(new File(made, INDEX), store.sealer().seal(draft.index.encode(), place(draft.commit, INDEX)));
            if (!Files.claim(made, commitFolder(folder, draft.commit))) {
                Files.remove(made);
                return false;
            }
        } catch (IOException | GeneralSecurityException error) {
            if (made != null) Files.remove(made);
            // Another process may have taken all away.
            open();
            throw Store.storage(error);
        }
        // A process that was stopped for long may have found the name of an old commit free, which was removed meanwhile.
        if (latest(folder) != draft.commit && !read().index.history.contains(commitName)) return false;
        clean(folder, base.index, draft);
        return true;
    }

    private void clean(File folder, Index before, Draft draft) {
        Set<String> used = new HashSet<>();
        for (Index.Place place : draft.places()) used.add(path(place));
        for (Index.Place place : Draft.places(before)) {
            if (!used.contains(path(place))) delete(folder, place.commit, Integer.toString(place.number));
        }
        if (draft.commit > KEPT) delete(folder, draft.commit - KEPT, INDEX);
    }

    private static void delete(File folder, long commit, String file) {
        File commitFolder = commitFolder(folder, commit);
        new File(commitFolder, file).delete();
        // Fails while there is something in it.
        commitFolder.delete();
    }

    /** Removes what crashes have left behind. */
    private void sweep(File folder) throws PushException {
        Files.sweep(folder, System.currentTimeMillis());
        Snapshot now = read();
        Set<String> used = new HashSet<>();
        for (Index.Place place : Draft.places(now.index)) used.add(path(place));
        for (String name : Files.names(folder)) {
            long commit = number(name);
            if (commit == 0 || commit > now.commit) continue;
            for (String file : Files.names(new File(folder, name))) {
                boolean isUsed = file.equals(INDEX) ? commit > now.commit - KEPT : used.contains(commit + "/" + file);
                if (!isUsed) delete(folder, commit, file);
            }
            new File(folder, name).delete();
        }
    }

    private @Nullable byte[] content(Index.Place place) throws PushException {
        File file = new File(commitFolder(open(), place.commit), Integer.toString(place.number));
        try {
            return store.sealer().open(Files.read(file), place(place.commit, Integer.toString(place.number)));
        } catch (FileNotFoundException replaced) {
            return null;
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    // Names

    /** The account's folder, made if this client has not used it yet; throws if it is not that of this sign-in any more. */
    private File open() throws PushException {
        File folder = this.folder;
        if (folder == null) this.folder = folder = store.account(name);
        File place = new File(folder, SIGN_IN);
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            String[] names = Files.names(place);
            if (names.length == 0 && signIn != null) throw PushException.signedOut();
            if (names.length > 0) {
                if (signIn == null) {
                    signIn = names[0];
                    sweep(folder);
                }
                if (!signIn.equals(names[0])) throw PushException.signedOut();
                return folder;
            }
            try {
                if (!folder.mkdir() && !folder.isDirectory()) throw new IOException("a folder cannot be made");
                File made = Files.makeFolder(folder);
                Files.write(new File(made, Files.hexadecimal(Files.random(8))), new byte[0]);
                if (!Files.claim(made, place)) Files.remove(made);
            } catch (IOException error) {
                if (attempt + 1 == ATTEMPTS) throw Store.storage(error);
            }
        }
        throw busy();
    }

    /** What a content is bound to. */
    private String place(long commit, String file) {
        return name + '\n' + signIn + '\n' + commit + '/' + file;
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

    /** The number in a commit's name; 0 for another. */
    private static long number(String name) {
        if (!name.matches("c[1-9][0-9]{0,17}")) return 0;
        return Long.parseLong(name.substring(1));
    }

    private static void pause(int attempt) throws PushException {
        try {
            Thread.sleep(Math.min(attempt, 20));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw Store.storage(interrupted);
        }
    }

    static PushException busy() {
        return PushException.of(PushException.Reason.STORAGE, "others change the store all the time", null);
    }
}
