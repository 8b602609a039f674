package sealpost.client;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;

/** Sign-outs that the server does not know yet: each is a sealed file of its own until it does. */
final class SignOut {
    private static final String FOLDER = "signouts";

    private final Store store;
    private final Options options;

    SignOut(Store store, Options options) {
        this.store = store;
        this.options = options;
    }

    /** Keeps what it takes to end session and device later; without a credential the device waits for the account's next one. */
    void keep(@Nullable String authorization, @Nullable String registration, String account) throws PushException {
        Json order = Json.object()
                .with("Server", Json.of(options.base()))
                .with("Authorization", text(authorization))
                .with("Registration", text(registration))
                .with("Account", Json.of(account));
        write(Files.hexadecimal(Files.random(8)), order);
    }

    private static Json text(@Nullable String text) {
        return text == null ? Json.NULL : Json.of(text);
    }

    private void write(String name, Json order) throws PushException {
        File folder = new File(store.folder(), FOLDER);
        try {
            if (!folder.mkdir() && !folder.isDirectory()) throw new IOException("a folder cannot be made");
            File made = new File(folder, "." + name);
            Files.write(made, store.sealer().seal(order.bytes(), FOLDER + name));
            if (!made.renameTo(new File(folder, name))) throw new IOException("a file cannot be named");
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    /** Ends what is kept for this server; throws when the network fails. What the credential cannot end any more stays. */
    void finish(Deadline deadline) throws PushException {
        // Credentials are those of each order.
        Api api = new Api(options, Credentials.basic("", ""));
        for (File file : pending()) {
            Json order = read(file);
            if (order == null) {
                file.delete();
                continue;
            }
            String credential = string(order, "Authorization");
            if (credential == null || !options.base().equals(string(order, "Server"))) continue;
            String registration = string(order, "Registration");
            boolean isOver = registration == null
                    || isEnded(api, Paths.registration(registration), credential, deadline);
            // A token that is refused has no session any more.
            if (credential.startsWith("Bearer ")) isEnded(api, Paths.CURRENT_SESSION, credential, deadline);
            if (isOver) file.delete();
            else write(file.getName(), order.replacing("Authorization", Json.NULL));
        }
    }

    /** Ends the devices of an account whose credential of then could not, with the one that it has now. */
    void finish(Api api, String account, Deadline deadline) throws PushException {
        for (File file : pending()) {
            Json order = read(file);
            String registration = order == null ? null : string(order, "Registration");
            if (registration == null || string(order, "Authorization") != null) continue;
            if (!account.equals(string(order, "Account")) || !options.base().equals(string(order, "Server"))) continue;
            if (isEnded(api, Paths.registration(registration), null, deadline)) file.delete();
        }
    }

    /** Takes a device out of all orders: the server gives the id of a handle again to whoever signs in again. */
    void release(String registration) throws PushException {
        for (File file : pending()) {
            Json order = read(file);
            if (order == null || !registration.equals(string(order, "Registration"))) continue;
            if (!options.base().equals(string(order, "Server"))) continue;
            if (string(order, "Authorization") == null) file.delete();
            else write(file.getName(), order.replacing("Registration", Json.NULL));
        }
    }

    private static @Nullable String string(Json order, String name) {
        Json member = order.get(name);
        return member == null ? null : member.string();
    }

    int count() throws PushException {
        return pending().size();
    }

    private List<File> pending() throws PushException {
        File folder = new File(store.folder(), FOLDER);
        List<File> files = new ArrayList<>();
        for (String name : Files.names(folder)) {
            if (name.matches("[0-9a-f]{16}")) files.add(new File(folder, name));
        }
        return files;
    }

    private @Nullable Json read(File file) throws PushException {
        try {
            byte[] content = store.sealer().open(Files.read(file), FOLDER + file.getName());
            return content == null ? null : Json.read(content);
        } catch (FileNotFoundException | JsonException none) {
            return null;
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    /** Whether the server has said that something is gone; not if it refuses the credential. Without one it is that of the client. */
    private static boolean isEnded(Api api, String path, @Nullable String authorization, Deadline deadline)
            throws PushException {
        Request request = new Request("DELETE", path);
        try {
            if (authorization == null) api.call(request, deadline);
            else api.call(request, authorization, deadline);
            return true;
        } catch (PushException error) {
            if (error.leavesWhatIsKept()) throw error;
            return error.isGone();
        }
    }
}
