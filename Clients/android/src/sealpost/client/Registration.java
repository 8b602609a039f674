package sealpost.client;

import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/** Registers this device, and registers it again only after a change. */
final class Registration {
    /**
     * The number of bytes of the SHA-256 in a fingerprint. After them, the fingerprint names the
     * session.
     */
    private static final int DIGEST = 32;

    private final PushClient client;
    private final String platform;
    private final String handle;
    private final List<String> tags;

    /** The account that registers. Another one may sign in with this client meanwhile. */
    private final @Nullable String account;

    Registration(PushClient client, String platform, String handle, Collection<String> tags) {
        this.client = client;
        this.platform = platform;
        this.handle = handle;
        this.tags = new ArrayList<>(tags);
        this.account = client.api.own().id();
    }

    /**
     * The id of the device's registration; null if a value or the session has changed, or the
     * interval has passed.
     */
    @Nullable String current(long intervalMillis, Deadline deadline) throws PushClientException {
        Index index = client.account.read().index;
        if (index.registration == null || index.fingerprint.length < DIGEST) return null;
        if (!Arrays.equals(Arrays.copyOf(index.fingerprint, DIGEST), fingerprint())) return null;
        // When a session ended at the server, its device ended with it.
        byte[] session = session(client.api.lastAuthorization(deadline));
        byte[] stored = Arrays.copyOfRange(index.fingerprint, DIGEST, index.fingerprint.length);
        if (session != null && !Arrays.equals(stored, session)) return null;
        long age = client.options.now() - index.registeredAt;
        // A clock that was set back does not make a registration younger.
        return age >= 0 && age < intervalMillis ? index.registration : null;
    }

    String register(Deadline deadline) throws PushClientException {
        Index index = client.account.read().index;
        String id = index.registration;
        // The sign-in has not registered this device yet, or the call that began to has failed.
        boolean isNew = id == null || index.fingerprint.length == 0;
        if (id == null) id = note(requestId(handle, deadline), null, deadline);
        try {
            put(id, deadline);
        } catch (PushClientException error) {
            if (error.problem() == null || !error.problem().code().equals("registration-gone")) throw error;
            id = note(requestId(null, deadline), id, deadline);
            put(id, deadline);
        }
        try {
            // The keys come before the fingerprint, so that they still count as new after a failure.
            if (client.options.deviceKey() != null) client.devices().isListed(id, isNew, deadline);
            store(id);
        } catch (PushClientException error) {
            // The order of another account's sign-in ends the device, and the client now has the
            // token of that account.
            boolean isOwnToken = account == null || account.equals(client.api.own().id());
            if (error.reason() == PushClientException.Reason.SIGNED_OUT && isOwnToken) end(id);
            throw error;
        }
        return id;
    }

    /**
     * Stores an id before the client registers under it, and returns it. So the order of a sign-out
     * names the id, even during the request or after a lost answer.
     *
     * <p>Returns another process's id if that process has replaced {@code earlier} first: the device
     * has one registration.
     */
    private String note(final String id, final @Nullable String earlier, Deadline deadline) throws PushClientException {
        client.signOuts().release(id, deadline);
        return client.account.change(new Account.Change<String>() {
            @Override
            public String make(Draft draft) throws PushClientException {
                draft.require(account);
                String current = draft.index.registration;
                if (current != null && !current.equals(earlier)) return current;
                draft.index.registration = id;
                draft.index.fingerprint = new byte[0];
                draft.index.registeredAt = 0;
                return id;
            }
        });
    }

    /** Ends a device that the server registered after the account had signed out. */
    private void end(String id) {
        Deadline deadline = client.options.deadline();
        SignOut signOuts = client.signOuts();
        Api api = client.api;
        signOuts.end(signOuts.order(api.lastAuthorization(deadline), id, api.account(), api.own().id()), deadline);
    }

    private String requestId(@Nullable String handle, Deadline deadline) throws PushClientException {
        Request request = new Request("POST", Paths.REGISTER);
        // Each repetition would create another id.
        request.isRepeatable = false;
        request.account = account;
        if (handle != null && !handle.isEmpty()) request.parameter("handle", handle);
        Answer answer = client.api.call(request, deadline);
        String id = answer.json == null ? null : answer.json.string();
        if (id == null || !Device.isId(id)) throw answer.unexpected("a registration id");
        return id;
    }

    private void put(String id, Deadline deadline) throws PushClientException {
        List<Json> names = new ArrayList<>();
        for (String tag : tags) names.add(Json.of(tag));
        Json body = Json.object()
                .with("Platform", Json.of(platform))
                .with("Handle", Json.of(handle))
                .with("Tags", Json.array(names));
        if (client.options.app() != null) body = body.with("App", Json.of(client.options.app()));
        if (client.options.isDeviceShared()) body = body.with("Shared", Json.of(true));
        Request request = new Request("PUT", Paths.registration(id));
        request.body = body;
        request.account = account;
        client.api.call(request, deadline);
    }

    private void store(final String id) throws PushClientException {
        final long now = client.options.now();
        client.account.change(new Account.Change<Void>() {
            @Override
            public @Nullable Void make(Draft draft) throws PushClientException {
                draft.require(account);
                draft.index.registration = id;
                draft.index.fingerprint = joined(fingerprint(), session(client.api.last()));
                draft.index.registeredAt = now;
                return null;
            }
        });
    }

    /**
     * The session of a credential: the first characters of its token, as the server's lists show
     * them. Empty for a password or an identity provider's token; null without a credential.
     */
    private static @Nullable byte[] session(@Nullable String authorization) {
        if (authorization == null) return null;
        String token = authorization.startsWith("Bearer spt_") ? authorization.substring("Bearer ".length()) : "";
        return token.substring(0, Math.min(12, token.length())).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] joined(byte[] digest, @Nullable byte[] session) {
        if (session == null) return digest;
        byte[] both = Arrays.copyOf(digest, digest.length + session.length);
        System.arraycopy(session, 0, both, digest.length, session.length);
        return both;
    }

    /** A hash that changes with platform, sharing, handle or tags, and reveals nothing of them. */
    private byte[] fingerprint() {
        List<String> texts = new ArrayList<>(tags);
        Collections.sort(texts);
        texts.add(0, handle);
        // No platform's name has a slash.
        texts.add(0, client.options.isDeviceShared() ? platform + "/shared" : platform);
        MessageDigest hash = Hashes.digest();
        for (String text : texts) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            // The length in front separates the texts: any separator may occur in a text.
            hash.update((bytes.length + ":").getBytes(StandardCharsets.US_ASCII));
            hash.update(bytes);
        }
        return hash.digest();
    }
}
