/// Every error that a client can receive: a stable name, its status, and a title that never
/// changes.
///
/// The names are in `docs/errors.md`, each with its cause and remedy. A code is never renamed and
/// never given another meaning.
public enum ProblemCode: String, Sendable, CaseIterable {
    /// The request is not valid HTTP/1.1, or two parsers could read it differently.
    case malformedRequest = "malformed-request"
    /// `MyToken` is not a decimal number of at most 126322567, or appears twice.
    case invalidToken = "invalid-mytoken"
    /// The body is not JSON, or nests deeper than 62 levels.
    case invalidJSON = "invalid-json"
    /// A member of the body is missing, has the wrong type, or is outside its limits.
    case invalidMember = "invalid-member"
    /// The body has an unknown member, and the client prefers strict handling.
    case unknownMember = "unknown-member"
    /// The query has an unknown parameter, and the client prefers strict handling.
    case unknownParameter = "unknown-parameter"
    /// A query parameter or a part of the path is outside its limits.
    case invalidParameter = "invalid-parameter"
    /// The server did not give this cursor to this user for this list; send the request without a
    /// cursor.
    case invalidCursor = "invalid-cursor"
    /// `Idempotency-Key` appears twice, or is not 1 to 255 visible ASCII characters.
    case invalidIdempotencyKey = "invalid-idempotency-key"
    /// `Accept-Signature` asks for a signature that the server cannot make.
    case unsupportedSignature = "unsupported-signature"
    /// The server has no sender for the platform that a registration names.
    case unknownPlatform = "unknown-platform"
    /// There is no such app, or the user does not belong to it.
    case unknownApp = "unknown-app"
    /// The server's configuration does not list a value of a notification's `Alert`.
    case alertNotAllowed = "alert-not-allowed"
    /// The app requires end-to-end encryption, and the payload is not encrypted.
    case encryptionRequired = "encryption-required"
    /// The tag expression matches more devices than an end-to-end payload can have keys for.
    case audienceTooLarge = "audience-too-large"
    /// A notification is addressed to a user who does not exist.
    case unknownUser = "unknown-user"
    /// Credentials are missing or wrong.
    case unauthorized = "unauthorized"
    /// The bearer token is unknown, has expired or was revoked, or its user is disabled.
    case invalidBearerToken = "invalid-token"
    /// The issuer's token has expired, or is too old; get another one from the issuer.
    case tokenExpired = "token-expired"
    /// The issuer's token is valid, but gives access to no account of this server.
    case accountRefused = "account-refused"
    /// The code for enrolment is wrong, used or expired; ask for another one.
    case enrolmentRefused = "enrolment-refused"
    /// The present password in a change of the caller's password is wrong.
    case wrongPassword = "wrong-password"
    /// The role of the caller does not allow the request.
    case forbidden = "forbidden"
    /// The role of the caller allows the request, but the token lacks a scope.
    case insufficientScope = "insufficient-scope"
    /// A browser has sent the request for a page whose origin is not allowed.
    case crossOrigin = "cross-origin"
    /// The resource does not exist, has expired, or belongs to another user.
    case notFound = "not-found"
    /// The resource does not support the method; `Allow` lists the supported ones.
    case methodNotAllowed = "method-not-allowed"
    /// The request took too long to arrive.
    case requestTimeout = "request-timeout"
    /// A request to cancel or retry a single push came too late: the push no longer waits for an
    /// attempt.
    case pushNotWaiting = "push-not-waiting"
    /// A user of that name exists already.
    case conflict = "conflict"
    /// The change would leave no administrator who is not disabled.
    case lastAdministrator = "last-administrator"
    /// The server is still answering the first request with this `Idempotency-Key`.
    case idempotencyKeyInUse = "idempotency-key-in-use"
    /// The user has as many devices as the limit of the role allows.
    case tooManyDevices = "too-many-devices"
    /// The user has stored as many notifications, or bytes of payloads, as the limit of the role
    /// allows.
    case tooMuchStored = "too-much-stored"
    /// The notification was sent without `ReadOnce`, or was not fetched: there is nothing to
    /// confirm.
    case nothingToConfirm = "nothing-to-confirm"
    /// The code is wrong or too old, or the registration waits for no code; register again to
    /// receive a new one.
    case confirmationRefused = "confirmation-refused"
    /// The registration id was retired, or was not issued to this account; ask for a new one.
    case registrationGone = "registration-gone"
    /// `If-Match`, `If-Unmodified-Since` or `If-None-Match` does not hold.
    case preconditionFailed = "precondition-failed"
    /// The body or the payload is larger than the server accepts.
    case payloadTooLarge = "payload-too-large"
    /// Path and query together are longer than 8 KiB.
    case targetTooLong = "target-too-long"
    /// The configuration's `server.names` does not list the host of the request.
    case misdirectedRequest = "misdirected-request"
    /// `Expect` asks for something other than `100-continue`.
    case unsupportedExpectation = "unsupported-expectation"
    /// A different request with this `Idempotency-Key` came within the last 24 hours.
    case idempotencyKeyReused = "idempotency-key-reused"
    /// The request has too many fields, or they are too large.
    case headerTooLarge = "header-too-large"
    /// The user has as many event streams open as the server allows.
    case tooManyStreams = "too-many-streams"
    /// Too many sign-ins to this account or from this address have failed; `Retry-After` says how
    /// long to wait.
    case tooManyAttempts = "too-many-attempts"
    /// The user has asked for the confirmation of too many handles; `Retry-After` says how long to
    /// wait.
    case tooManyConfirmations = "too-many-confirmations"
    /// The user has used up the quota of the role; `Retry-After` says how long to wait.
    case rateLimited = "rate-limited"
    /// The server failed; its log has the reason under the id of the request.
    case internalError = "internal-error"
    /// The token needs the issuer's keys, which cannot be read now; `Retry-After` says how long to
    /// wait.
    case issuerUnavailable = "issuer-unavailable"
    /// The server does not know the method or the transfer coding.
    case notImplemented = "not-implemented"
    /// The server is overloaded; `Retry-After` says how long to wait.
    case busy = "busy"
    /// The database is damaged, or refuses the server. An operator must act first; `Retry-After`
    /// says when a retry is worth the attempt.
    case databaseUnusable = "database-unusable"
    /// The server speaks HTTP/1.1 and HTTP/1.0 only.
    case versionNotSupported = "version-not-supported"
    /// The disk of the server is full, and it stored nothing; `Retry-After` says how long to wait.
    case storageFull = "storage-full"

    /// The HTTP status of the problem.
    public var status: Int {
        switch self {
        case .malformedRequest, .invalidToken, .invalidJSON, .invalidMember, .invalidParameter: 400
        case .invalidCursor, .invalidIdempotencyKey, .unsupportedSignature, .unknownPlatform, .unknownUser: 400
        case .unknownMember, .unknownParameter, .unknownApp, .alertNotAllowed: 400
        case .encryptionRequired, .audienceTooLarge: 400
        case .unauthorized, .invalidBearerToken, .tokenExpired: 401
        case .forbidden, .insufficientScope, .crossOrigin, .accountRefused, .enrolmentRefused, .wrongPassword: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .conflict, .lastAdministrator, .idempotencyKeyInUse, .tooManyDevices, .tooMuchStored: 409
        case .nothingToConfirm, .confirmationRefused, .pushNotWaiting: 409
        case .registrationGone: 410
        case .preconditionFailed: 412
        case .payloadTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedExpectation: 417
        case .misdirectedRequest: 421
        case .idempotencyKeyReused: 422
        case .tooManyStreams, .tooManyAttempts, .tooManyConfirmations, .rateLimited: 429
        case .headerTooLarge: 431
        case .internalError: 500
        case .notImplemented: 501
        case .busy, .databaseUnusable, .issuerUnavailable: 503
        case .versionNotSupported: 505
        case .storageFull: 507
        }
    }

    /// A short text for people, the same for every error of this code.
    public var title: String {
        switch self {
        case .malformedRequest: "The request is not valid HTTP"
        case .invalidToken: "The MyToken field is not a number from 0 to 126322567"
        case .invalidJSON: "The body is not valid JSON"
        case .invalidMember: "A member of the body is not valid"
        case .unknownMember: "The body has an unknown member"
        case .unknownParameter: "The query has an unknown parameter"
        case .invalidParameter: "A query parameter or path segment is not valid"
        case .invalidCursor: "The cursor is not valid for this list"
        case .invalidIdempotencyKey: "The Idempotency-Key field is not valid"
        case .unsupportedSignature: "The requested signature is not supported"
        case .unknownPlatform: "There is no sender for this platform"
        case .unknownApp: "The user has no such app"
        case .alertNotAllowed: "The configuration does not allow this alert"
        case .encryptionRequired: "End-to-end encryption is required"
        case .audienceTooLarge: "The audience is too large for end-to-end encryption"
        case .unknownUser: "The user does not exist"
        case .unauthorized: "Credentials are missing or wrong"
        case .invalidBearerToken: "The bearer token is invalid, expired or revoked"
        case .tokenExpired: "The issuer's token has expired"
        case .enrolmentRefused: "The enrolment code is not valid"
        case .wrongPassword: "The present password is wrong"
        case .accountRefused: "The issuer's user may not sign in here"
        case .insufficientScope: "The token lacks a required scope"
        case .forbidden: "The caller is not allowed to do this"
        case .crossOrigin: "The request comes from a page of another origin"
        case .notFound: "Not found"
        case .methodNotAllowed: "The resource does not support this method"
        case .requestTimeout: "The request took too long to arrive"
        case .conflict: "The resource already exists"
        case .pushNotWaiting: "The push cannot be retried or cancelled now"
        case .lastAdministrator: "The last administrator cannot be removed"
        case .idempotencyKeyInUse: "A request with this Idempotency-Key is in progress"
        case .tooManyDevices: "The user has reached the device limit"
        case .tooMuchStored: "The user has reached the storage limit"
        case .nothingToConfirm: "There is nothing to confirm"
        case .confirmationRefused: "The confirmation code is not valid"
        case .registrationGone: "The registration is no longer valid"
        case .preconditionFailed: "Precondition failed: the resource has changed"
        case .payloadTooLarge: "The body is too large"
        case .targetTooLong: "The request target is too long"
        case .unsupportedExpectation: "The Expect field is not supported"
        case .misdirectedRequest: "The server does not answer to this host name"
        case .tooManyStreams: "The user has too many event streams open"
        case .tooManyAttempts: "Too many failed sign-ins"
        case .tooManyConfirmations: "Too many confirmations requested"
        case .rateLimited: "Rate limit exceeded"
        case .idempotencyKeyReused: "The Idempotency-Key was used for another request"
        case .headerTooLarge: "The header section is too large"
        case .internalError: "Internal server error"
        case .notImplemented: "Not implemented"
        case .issuerUnavailable: "The keys of the token's issuer are not available"
        case .busy: "The server cannot take the request now"
        case .databaseUnusable: "The server's database cannot be used"
        case .versionNotSupported: "The HTTP version is not supported"
        case .storageFull: "The server's disk is full"
        }
    }

    /// The `type` member: an identifier of the code, not a page to fetch.
    public var type: String { "urn:sealpost:problem:\(self.rawValue)" }
}
