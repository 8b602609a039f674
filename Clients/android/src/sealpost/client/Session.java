package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Date;

/** A session that a sign-in has begun, with its token. The app can discard the password. */
public final class Session {
    /** The maximum length of a token, much longer than any identity provider's. */
    private static final int MAXIMUM_TOKEN = 16_384;

    private final String token;
    private final Date expiresAt;
    private final @Nullable String account;

    /** Creates a session, for tests. */
    public Session(String token, Date expiresAt, @Nullable String account) {
        this.token = token;
        this.expiresAt = expiresAt;
        this.account = account;
    }

    static @Nullable Session read(@Nullable Json json, @Nullable String account) {
        Json token = json == null ? null : json.get("Token");
        Json end = json == null ? null : json.get("ExpiresAt");
        String text = token == null ? null : token.string();
        Long time = end == null ? null : Times.fromRfc3339(end.string());
        if (text == null || text.length() > MAXIMUM_TOKEN || !Credentials.isToken(text) || time == null) return null;
        return new Session(text, new Date(time), account);
    }

    public String token() {
        return token;
    }

    /**
     * The account's identifier, for {@link Credentials#accountId}; null if the server has no
     * account identifiers.
     */
    public @Nullable String account() {
        return account;
    }

    /** The time from which the token is invalid. */
    public Date expiresAt() {
        return new Date(expiresAt.getTime());
    }
}
