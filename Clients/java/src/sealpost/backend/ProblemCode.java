package sealpost.backend;

/**
 * The codes of docs/errors.md, for comparisons with {@link Problem#code}. The code of a newer server
 * may have no constant.
 */
public final class ProblemCode {
    public static final String ACCOUNT_REFUSED = "account-refused";
    public static final String ALERT_NOT_ALLOWED = "alert-not-allowed";
    public static final String AUDIENCE_TOO_LARGE = "audience-too-large";
    public static final String BUSY = "busy";
    public static final String CONFIRMATION_REFUSED = "confirmation-refused";
    public static final String CONFLICT = "conflict";
    public static final String CROSS_ORIGIN = "cross-origin";
    public static final String DATABASE_UNUSABLE = "database-unusable";
    public static final String ENCRYPTION_REQUIRED = "encryption-required";
    public static final String ENROLMENT_REFUSED = "enrolment-refused";
    public static final String FORBIDDEN = "forbidden";
    public static final String HEADER_TOO_LARGE = "header-too-large";
    public static final String IDEMPOTENCY_KEY_IN_USE = "idempotency-key-in-use";
    public static final String IDEMPOTENCY_KEY_REUSED = "idempotency-key-reused";
    public static final String INSUFFICIENT_SCOPE = "insufficient-scope";
    public static final String INTERNAL_ERROR = "internal-error";
    public static final String INVALID_CURSOR = "invalid-cursor";
    public static final String INVALID_IDEMPOTENCY_KEY = "invalid-idempotency-key";
    public static final String INVALID_JSON = "invalid-json";
    public static final String INVALID_MEMBER = "invalid-member";
    public static final String INVALID_MYTOKEN = "invalid-mytoken";
    public static final String INVALID_PARAMETER = "invalid-parameter";
    public static final String INVALID_TOKEN = "invalid-token";
    public static final String ISSUER_UNAVAILABLE = "issuer-unavailable";
    public static final String LAST_ADMINISTRATOR = "last-administrator";
    public static final String MALFORMED_REQUEST = "malformed-request";
    public static final String METHOD_NOT_ALLOWED = "method-not-allowed";
    public static final String MISDIRECTED_REQUEST = "misdirected-request";
    public static final String NOT_FOUND = "not-found";
    public static final String NOT_IMPLEMENTED = "not-implemented";
    public static final String NOTHING_TO_CONFIRM = "nothing-to-confirm";
    public static final String PAYLOAD_TOO_LARGE = "payload-too-large";
    public static final String PRECONDITION_FAILED = "precondition-failed";
    public static final String PUSH_NOT_WAITING = "push-not-waiting";
    public static final String RATE_LIMITED = "rate-limited";
    public static final String REGISTRATION_GONE = "registration-gone";
    public static final String REQUEST_TIMEOUT = "request-timeout";
    public static final String STORAGE_FULL = "storage-full";
    public static final String TARGET_TOO_LONG = "target-too-long";
    public static final String TOKEN_EXPIRED = "token-expired";
    public static final String TOO_MANY_ATTEMPTS = "too-many-attempts";
    public static final String TOO_MANY_CONFIRMATIONS = "too-many-confirmations";
    public static final String TOO_MANY_DEVICES = "too-many-devices";
    public static final String TOO_MANY_STREAMS = "too-many-streams";
    public static final String TOO_MUCH_STORED = "too-much-stored";
    public static final String UNAUTHORIZED = "unauthorized";
    public static final String UNKNOWN_APP = "unknown-app";
    public static final String UNKNOWN_MEMBER = "unknown-member";
    public static final String UNKNOWN_PARAMETER = "unknown-parameter";
    public static final String UNKNOWN_PLATFORM = "unknown-platform";
    public static final String UNKNOWN_USER = "unknown-user";
    public static final String UNSUPPORTED_EXPECTATION = "unsupported-expectation";
    public static final String UNSUPPORTED_SIGNATURE = "unsupported-signature";
    public static final String VERSION_NOT_SUPPORTED = "version-not-supported";
    public static final String WRONG_PASSWORD = "wrong-password";

    private ProblemCode() {}
}
