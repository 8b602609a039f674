package example;

import android.content.Context;
import java.io.File;
import sealpost.client.*;

final class Push {
    static final String PINNED = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
    static Options options() { return new Options("https://push.example.org", Signatures.pinned(new Tink(), new VerificationKey(PINNED))); }
    static Store store(Context context) { return new Store(new File(context.getNoBackupFilesDir(), "sealpost"), new StoreKey()); }
    private static PushClient plain(Store store) { return new PushClient(options(), Credentials.stored("alice"), store); } // has no keys
    private static PushClient client;
    static synchronized PushClient client(Context context) throws PushClientException { // one for the process
        if (client != null) return client;
        Store store = store(context);
        Options options = EndToEnd.options(options(), store, plain(store).accountId());
        return client = new PushClient(options, Credentials.stored("alice"), store);
    }
    static synchronized boolean signOut(Context context) throws PushClientException {
        PushClient old = client == null ? plain(store(context)) : client;
        client = null;
        boolean isConfirmed = old.signOut();
        EndToEnd.end(store(context));
        return isConfirmed;
    }
    static synchronized void signIn(Context context, String name, String password) throws PushClientException {
        Store store = store(context);
        client = null;                                                  // the next client has the keys
        EndToEnd.begin(store, plain(store).signIn(name, password).account());
    }
    static void open(Context context) throws PushClientException {
        PushClient client = client(context);
        Inbox cached = client.cachedInbox();
        Screen.show(cached, cached.syncedAt());
        Fetched<Inbox> inbox = client.sync();
        Screen.show(inbox.value(), inbox.date());
        PushWorker.register(client);
    }
}
