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
        case .invalidParameter: "A part of the address is not valid"
        case .invalidCursor: "The cursor is none of this user's"
        case .invalidIdempotencyKey: "The Idempotency-Key field is not a key"
        case .unsupportedSignature: "The signature that is asked for cannot be made"
        case .unknownPlatform: "There is no sender for this platform"
        case .unknownUser: "There is no such user"
        case .unauthorized: "Credentials are missing or wrong"
        case .invalidBearerToken: "The token is none, has expired or was revoked"
        case .insufficientScope: "The token is not good for this"
        case .forbidden: "This caller may not do this"
        case .notFound: "There is nothing here"
        case .methodNotAllowed: "This resource does not know the method"
        case .requestTimeout: "The request took too long to arrive"
        case .conflict: "It exists already"
        case .lastAdministrator: "There must be an administrator"
        case .idempotencyKeyInUse: "A request with this key is still being answered"
        case .tooManyDevices: "This user has as many devices as it may"
        case .tooMuchStored: "This user has as much stored as it may"
        case .registrationGone: "This registration is no longer valid"
        case .preconditionFailed: "It is no longer as the request expects"
        case .payloadTooLarge: "The body is too large"
        case .targetTooLong: "The address is too long"
        case .unsupportedExpectation: "The Expect field asks for something unknown"
        case .tooManyStreams: "This user has too many event streams open"
        case .tooManyAttempts: "Too many sign-ins have failed"
        case .rateLimited: "This user has made too many requests"
        case .idempotencyKeyReused: "This key belongs to another request"
        case .headerTooLarge: "The header is too large"
        case .internalError: "Something went wrong in the server"
        case .notImplemented: "The server does not do this"
        case .busy: "The server cannot take more work just now"
        case .versionNotSupported: "The server speaks HTTP/1.1"
        case .storageFull: "The server has no room left"
        }
    }

    /// The `type` member: names the code, is not meant to be fetched.
    public var type: String { "urn:sealpost:problem:\(self.rawValue)" }
}
