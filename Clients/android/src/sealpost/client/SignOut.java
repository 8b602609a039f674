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

    /** Keeps what it takes to end session and device later. */
    void keep(String authorization, @Nullable String registration) throws PushException {
        Json order = Json.object()
                .with("Server", Json.of(options.base()))
                .with("Authorization", Json.of(authorization))
                .with("Registration", registration == null ? Json.NULL : Json.of(registration));
        File folder = new File(store.folder(), FOLDER);
        String name = Files.hexadecimal(Files.random(8));
        try {
            if (!folder.mkdir() && !folder.isDirectory()) throw new IOException("a folder cannot be made");
            File made = new File(folder, "." + name);
            Files.write(made, store.sealer().seal(order.bytes(), FOLDER + name));
            if (!made.renameTo(new File(folder, name))) throw new IOException("a file cannot be named");
        } catch (IOException | GeneralSecurityException error) {
            throw Store.storage(error);
        }
    }

    /** Ends what is kept for this server; throws when the network fails. */
    void finish(Deadline deadline) throws PushException {
        // Credentials are those of each order.
        Api api = new Api(options, Credentials.basic("", ""));
        for (File file : pending()) {
            Json order = read(file);
            if (order == null) {
                file.delete();
                continue;
            }
            Json server = order.get("Server");
            Json authorization = order.get("Authorization");
            Json registration = order.get("Registration");
            if (server == null || authorization == null || !options.base().equals(server.string())) continue;
            String credential = authorization.string();
            if (credential == null) continue;
            if (registration != null && registration.string() != null) {
                end(api, Paths.registration(registration.string()), credential, deadline);
            }
            if (credential.startsWith("Bearer ")) end(api, Paths.CURRENT_SESSION, credential, deadline);
            file.delete();
        }
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

    private static void end(Api api, String path, String authorization, Deadline deadline) throws PushException {
        try {
            api.call(new Request("DELETE", path), authorization, deadline);
        } catch (PushException error) {
            // Ended already, with its session or by somebody else.
            boolean isOver = error.isGone() || error.reason() == PushException.Reason.UNAUTHORIZED
                    || error.problem() != null && error.problem().status() == 403;
            if (!isOver) throw error;
        }
    }
}
