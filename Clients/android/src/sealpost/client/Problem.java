package sealpost.client;

import androidx.annotation.Nullable;

public final class Problem {
    private static final String PREFIX = "urn:sealpost:problem:";

    private final String code;
    private final String title;
    private final int status;
    private final @Nullable String detail;

    /** Creates a refusal with a code of docs/errors.md, for tests. */
    public Problem(String code, String title, int status, @Nullable String detail) {
        this.code = code;
        this.title = title;
        this.status = status;
        this.detail = detail;
    }

    /** The problem in a body; null if the body is not a problem of that status. */
    static @Nullable Problem read(@Nullable Json json, int status) {
        if (json == null || json.get("type") == null || json.get("title") == null || json.get("status") == null) return null;
        String type = json.get("type").string();
        String title = json.get("title").string();
        Long said = json.get("status").integer();
        if (type == null || title == null || said == null || said != status) return null;
        Json detail = json.get("detail");
        String code = type.startsWith(PREFIX) ? type.substring(PREFIX.length()) : type;
        return new Problem(code, title, status, detail == null ? null : detail.string());
    }

    /** The stable code, such as {@code not-found}. */
    public String code() {
        return code;
    }

    public String title() {
        return title;
    }

    public int status() {
        return status;
    }

    /** The cause of this error, as a text for people. */
    public @Nullable String detail() {
        return detail;
    }

    @Override
    public String toString() {
        return code + " (" + status + ")" + (detail == null ? "" : ": " + detail);
    }
}
