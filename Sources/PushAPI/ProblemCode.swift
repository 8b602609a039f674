/// Every error a client can be told about: a stable name, its status, and a title that never changes.
///
/// The names are in `docs/errors.md`, each with its cause and remedy. A code is never renamed and never given another
/// meaning.
public enum ProblemCode: String, Sendable, CaseIterable {
    case malformedRequest = "malformed-request"
    case invalidToken = "invalid-mytoken"
    case invalidJSON = "invalid-json"
    case invalidMember = "invalid-member"
    case invalidParameter = "invalid-parameter"
    case invalidCursor = "invalid-cursor"
    case invalidIdempotencyKey = "invalid-idempotency-key"
    case unsupportedSignature = "unsupported-signature"
    case unknownPlatform = "unknown-platform"
    case unknownUser = "unknown-user"
    case unauthorized = "unauthorized"
    case invalidBearerToken = "invalid-token"
    case forbidden = "forbidden"
    case insufficientScope = "insufficient-scope"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case requestTimeout = "request-timeout"
    case conflict = "conflict"
    case lastAdministrator = "last-administrator"
    case idempotencyKeyInUse = "idempotency-key-in-use"
    case tooManyDevices = "too-many-devices"
    case tooMuchStored = "too-much-stored"
    case registrationGone = "registration-gone"
    case preconditionFailed = "precondition-failed"
    case payloadTooLarge = "payload-too-large"
    case targetTooLong = "target-too-long"
    case unsupportedExpectation = "unsupported-expectation"
    case idempotencyKeyReused = "idempotency-key-reused"
    case headerTooLarge = "header-too-large"
    case tooManyStreams = "too-many-streams"
    case tooManyAttempts = "too-many-attempts"
    case rateLimited = "rate-limited"
    case internalError = "internal-error"
    case notImplemented = "not-implemented"
    case busy = "busy"
    case versionNotSupported = "version-not-supported"
    case storageFull = "storage-full"

    /// The HTTP status that goes with it.
    public var status: Int {
        switch self {
        case .malformedRequest, .invalidToken, .invalidJSON, .invalidMember, .invalidParameter: 400
        case .invalidCursor, .invalidIdempotencyKey, .unsupportedSignature, .unknownPlatform, .unknownUser: 400
        case .unauthorized, .invalidBearerToken: 401
        case .forbidden, .insufficientScope: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .conflict, .lastAdministrator, .idempotencyKeyInUse, .tooManyDevices, .tooMuchStored: 409
        case .registrationGone: 410
        case .preconditionFailed: 412
        case .payloadTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedExpectation: 417
        case .idempotencyKeyReused: 422
        case .tooManyStreams, .tooManyAttempts, .rateLimited: 429
        case .headerTooLarge: 431
        case .internalError: 500
        case .notImplemented: 501
        case .busy: 503
        case .versionNotSupported: 505
        case .storageFull: 507
        }
    }

    /// A short text for humans, the same each time.
    public var title: String {
        switch self {
        case .malformedRequest: "The request is not valid HTTP"
        case .invalidToken: "The MyToken field is not a number from 0 to 126322567"
        case .invalidJSON: "The body is not valid JSON"
        case .invalidMember: "A member of the body is not valid"
        case .invalidParameter: "A query parameter or path segment is not valid"
        case .invalidCursor: "The cursor is not valid for this list"
        case .invalidIdempotencyKey: "The Idempotency-Key field is not valid"
        case .unsupportedSignature: "The requested signature is not supported"
        case .unknownPlatform: "There is no sender for this platform"
        case .unknownUser: "The user does not exist"
        case .unauthorized: "Credentials are missing or wrong"
        case .invalidBearerToken: "The bearer token is invalid, expired or revoked"
        case .insufficientScope: "The token lacks a required scope"
        case .forbidden: "The caller is not allowed to do this"
        case .notFound: "Not found"
        case .methodNotAllowed: "The resource does not support this method"
        case .requestTimeout: "The request took too long to arrive"
        case .conflict: "The resource already exists"
        case .lastAdministrator: "The last administrator cannot be removed"
        case .idempotencyKeyInUse: "A request with this Idempotency-Key is in progress"
        case .tooManyDevices: "The user has reached the device limit"
        case .tooMuchStored: "The user has reached the storage limit"
        case .registrationGone: "The registration is no longer valid"
        case .preconditionFailed: "Precondition failed: the resource has changed"
        case .payloadTooLarge: "The body is too large"
        case .targetTooLong: "The request target is too long"
        case .unsupportedExpectation: "The Expect field is not supported"
        case .tooManyStreams: "The user has too many event streams open"
        case .tooManyAttempts: "Too many failed sign-ins"
        case .rateLimited: "Rate limit exceeded"
        case .idempotencyKeyReused: "The Idempotency-Key was used for another request"
        case .headerTooLarge: "The header section is too large"
        case .internalError: "Internal server error"
        case .notImplemented: "Not implemented"
        case .busy: "The server cannot take the request now"
        case .versionNotSupported: "The HTTP version is not supported"
        case .storageFull: "The server's disk is full"
        }
    }

    /// The `type` member: names the code, is not meant to be fetched.
    public var type: String { "urn:sealpost:problem:\(self.rawValue)" }
}
