package sealpost.client;

import androidx.annotation.Nullable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The sign-outs that the server does not know yet. Each has an encrypted file until the server has
 * carried it out.
 */
final class SignOut {
    private static final String FOLDER = "signouts";

    /** The server's answer to a request that ends a device or a session. */
    enum Answered {
        ENDED,
        REFUSED,
        /**
         * The caller is not signed in: the token has ended, or a proxy has sent the request
         * without it.
         */
        NOBODY
    }

    /**
     * The latest sessions that the server has ended for this process, with their servers. A session
     * ends with its devices, so another order for it needs no request. The server would count it
     * as a wrong credential.
     */
    private static final Map<String, Boolean> ENDED_SESSIONS =
            Collections.synchronizedMap(new LinkedHashMap<String, Boolean>() {
                private static final long serialVersionUID = 1;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                    return size() > 64;
                }
            });

    private final Store store;
    private final Options options;

    SignOut(Store store, Options options) {
        this.store = store;
        this.options = options;
    }

    /**
     * Creates an order to end a session and its device. If the order has no credential, the
     * account's next session ends the device.
     */
    Json order(
            @Nullable String authorization, @Nullable String registration, String account, @Nullable String accountId) {
        return Json.object()
                .with("Server", Json.of(options.base()))
                .with("Authorization", text(authorization))
                .with("Registration", text(registration))
                .with("Account", Json.of(account))
                .with("AccountId", text(accountId));
    }

    private static Json text(@Nullable String text) {
        return text == null ? Json.NULL : Json.of(text);
    }

    private File write(String name, Json order) throws PushClientException {
        File folder = new File(store.folder(), FOLDER);
        File made = new File(folder, "." + name);
        File file = new File(folder, name);
        try {
            if (!folder.mkdir() && !folder.isDirectory()) throw new IOException("a folder of the store cannot be created");
            Files.write(made, store.sealer().seal(order.bytes(), FOLDER + name));
            if (!made.renameTo(file)) throw new IOException("a file of the store cannot be renamed");
            return file;
        } catch (IOException | GeneralSecurityException error) {
            made.delete();
            throw Store.storage(error);
        }
    }

    /** Stores an order, which {@link #finish(Deadline)} carries out. */
    File add(Json order) throws PushClientException {
        return write(Files.hexadecimal(Files.random(8)), order);
    }

    /**
     * Stores an order, and carries it out; returns whether the server has ended session and
     * device. If the order cannot be stored, nothing can retry it.
     */
    boolean end(Json order, Deadline deadline) {
        File file = null;
        try {
            file = add(order);
        } catch (PushClientException full) {
            // The order then exists only in memory.
        }
        try {
            ReentrantLock lock = store.signOuts();
            deadline.acquire(lock);
            try {
                Json current = file == null ? order : read(file);
                // Another thread has already carried out a missing order, and has ended its
                // device. The device may be registered again since.
                if (current == null) current = order.replacing("Registration", Json.NULL);
                return isFinished(file, current, deadline);
            } finally {
                lock.unlock();
            }
        } catch (PushClientException failed) {
            return false;
        }
    }

    /**
     * Carries out the orders for this server; throws when the network fails. If the credential of
     * an order can no longer end the device, the order stays.
     *
     * @return whether the server has ended each device and session
     */
    boolean finish(Deadline deadline) throws PushClientException {
        boolean isDone = true;
        ReentrantLock lock = store.signOuts();
        deadline.acquire(lock);
        try {
            for (File file : pending()) {
                Json order = read(file);
                if (order == null) {
                    file.delete();
                    continue;
                }
                if (string(order, "Authorization") == null || !options.base().equals(string(order, "Server"))) continue;
                if (!isFinished(file, order, deadline)) isDone = false;
            }
        } finally {
            lock.unlock();
        }
        return isDone;
    }

    /** The caller has the lock of sign-outs, so that each order is carried out by one thread. */
    private boolean isFinished(@Nullable File file, Json order, Deadline deadline) throws PushClientException {
        String credential = string(order, "Authorization");
        if (credential == null) return false;
        boolean isTold = isCarriedOut(order, credential, deadline);
        if (file == null) return isTold;
        boolean isOfDevice = string(order, "Registration") != null;
        // Another process has carried out an order that is missing now.
        if (!isTold && isOfDevice && !file.exists()) return true;
        // If the order names no device, the account's next session has nothing to end.
        if (isTold || !isOfDevice) file.delete();
        else write(file.getName(), order.replacing("Authorization", Json.NULL));
        return isTold;
    }

    private boolean isCarriedOut(Json order, String credential, Deadline deadline) throws PushClientException {
        String ended = options.base() + '\n' + credential;
        if (ENDED_SESSIONS.containsKey(ended)) return true;
        // The client ignores answers for other accounts. If the order has no account identifier,
        // the user name of its password identifies the account.
        Api api = new Api(options, Credentials.shown(credential), new OwnAccount(null, string(order, "AccountId")));
        String registration = string(order, "Registration");
        Answered device = registration == null
                ? Answered.ENDED
                : end(api, Paths.registration(registration), deadline);
        // A password and an identity provider's token have no session that the server could end.
        Answered session = credential.startsWith("Bearer ")
                ? end(api, Paths.CURRENT_SESSION, deadline)
                : Answered.REFUSED;
        if (session == Answered.ENDED) ENDED_SESSIONS.put(ended, true);
        // The end of a session also ends its device.
        return session == Answered.ENDED || session == Answered.REFUSED && device == Answered.ENDED;
    }

    /**
     * Uses the account's current credential to end the devices that the credentials of older
     * sessions could not end.
     */
    void finish(Api api, String account, Deadline deadline) throws PushClientException {
        for (File file : pending()) {
            Json order = read(file);
            if (order == null || !lacksCredential(order, account)) continue;
            String registration = string(order, "Registration");
            if (registration == null) continue;
            // The app may use one name for several accounts, and the server hides another
            // account's device as if it were gone.
            String accountId = string(order, "AccountId");
            if (accountId != null && api.own().id() != null && !accountId.equals(api.own().id())) continue;
            if (end(api, Paths.registration(registration), deadline) == Answered.ENDED) file.delete();
        }
    }

    /** Whether an account's order for this server waits for a credential that can carry it out. */
    private boolean lacksCredential(Json order, String account) {
        boolean isOfAccount = account.equals(string(order, "Account")) && options.base().equals(string(order, "Server"));
        return isOfAccount && string(order, "Authorization") == null;
    }

    /**
     * Gives a session's token to the orders of its account that have no credential: the sign-in
     * that stored them did not know it. Returns whether there are such orders.
     */
    boolean give(String authorization, String account, String accountId, Deadline deadline) throws PushClientException {
        boolean isGiven = false;
        ReentrantLock lock = store.signOuts();
        deadline.acquire(lock);
        try {
            for (File file : pending()) {
                Json order = read(file);
                if (order == null || !lacksCredential(order, account)) continue;
                if (!accountId.equals(string(order, "AccountId"))) continue;
                write(file.getName(), order.replacing("Authorization", Json.of(authorization)));
                isGiven = true;
            }
        } finally {
            lock.unlock();
        }
        return isGiven;
    }

    /**
     * Removes a device from all orders: for the same handle, the server gives the next session the
     * same id.
     */
    void release(String registration, Deadline deadline) throws PushClientException {
        ReentrantLock lock = store.signOuts();
        deadline.acquire(lock);
        try {
            for (File file : pending()) {
                Json order = read(file);
                if (order == null || !registration.equals(string(order, "Registration"))) continue;
                if (!options.base().equals(string(order, "Server"))) continue;
                if (string(order, "Authorization") == null) file.delete();
                else write(file.getName(), order.replacing("Registration", Json.NULL));
            }
        } finally {
            lock.unlock();
        }
    }

    private static @Nullable String string(Json order, String name) {
        Json member = order.get(name);
        return member == null ? null : member.string();
    }

    int count() throws PushClientException {
        return pending().size();
    }

    private List<File> pending() throws PushClientException {
        File folder = new File(store.folder(), FOLDER);
        List<File> files = new ArrayList<>();
        for (String name : Files.names(folder)) {
            if (name.matches("[0-9a-f]{16}")) files.add(new File(folder, name));
        }
        return files;
    }

    private @Nullable Json read(File file) throws PushClientException {
        try {
            byte[] content = store.sealer().open(Files.read(file), FOLDER + file.getName());
            return content == null ? null : Json.read(content);
        } catch (FileNotFoundException | JsonException none) {
            return null;
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    private static Answered end(Api api, String path, Deadline deadline) throws PushClientException {
        try {
            api.call(new Request("DELETE", path), deadline);
            return Answered.ENDED;
        } catch (PushClientException error) {
            return answered(path, error);
        }
    }

    /** The server's refusal to end something; throws errors that are not the server's decision. */
    static Answered answered(String path, PushClientException error) throws PushClientException {
        if (error.allowsCached()) throw error;
        if (error.reason() == PushClientException.Reason.UNAUTHORIZED) return Answered.NOBODY;
        return error.isGone() && !path.equals(Paths.CURRENT_SESSION) ? Answered.ENDED : Answered.REFUSED;
    }
}
