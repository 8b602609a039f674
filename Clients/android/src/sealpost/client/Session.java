package sealpost.client;

import androidx.annotation.Nullable;
import java.util.Date;

/** The token from a sign-in. Discard the password. */
public final class Session {
    /** Far longer than the token of any issuer. */
    private static final int MAXIMUM_TOKEN = 16_384;

    private final String token;
    private final Date expiresAt;
    private final @Nullable String account;

    /** A session, for tests. */
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
        return text == null || text.length() > MAXIMUM_TOKEN || time == null ? null : new Session(text, new Date(time), account);
    }

    public String token() {
        return token;
    }

    /**
     * The account's identifier, for {@link Credentials#accountId}; null if the server has none.
     */
    public @Nullable String account() {
        return account;
    }

    /** The time from which the token is invalid. */
    public Date expiresAt() {
        return new Date(expiresAt.getTime());
    }
}
