/// The reason why FCM refuses a message.
package struct FCMRefusal: Error, Hashable {
    package let status: Int
    /// The canonical code of the status, such as `INVALID_ARGUMENT`.
    package let canonical: String
    package let message: String
    /// FCM's own error code, if there is one.
    package var errorCode: String?
    /// The field that caused the refusal; `nil` if no single field did.
    package var field: String?

    static let unauthenticated = FCMRefusal(
        status: 401,
        canonical: "UNAUTHENTICATED",
        message: "Request had invalid authentication credentials. Expected OAuth 2 access token."
    )
    static let permissionDenied = FCMRefusal(
        status: 403,
        canonical: "PERMISSION_DENIED",
        message: "The caller does not have permission"
    )
    static let notFound = FCMRefusal(
        status: 404,
        canonical: "NOT_FOUND",
        message: "Requested entity was not found."
    )
    static let unregistered = FCMRefusal(
        status: 404,
        canonical: "NOT_FOUND",
        message: "Requested entity was not found.",
        errorCode: "UNREGISTERED"
    )

    static let senderMismatch = FCMRefusal(
        status: 403,
        canonical: "PERMISSION_DENIED",
        message: "SenderId mismatch",
        errorCode: "SENDER_ID_MISMATCH"
    )
    static let thirdPartyAuthentication = FCMRefusal(
        status: 401,
        canonical: "UNAUTHENTICATED",
        message: "Auth error from APNS or Web Push Service",
        errorCode: "THIRD_PARTY_AUTH_ERROR"
    )
    static let quotaExceeded = FCMRefusal(
        status: 429,
        canonical: "RESOURCE_EXHAUSTED",
        message: "Quota exceeded for quota metric 'Send requests'",
        errorCode: "QUOTA_EXCEEDED"
    )

    static func invalid(_ field: String?, _ message: String, errorCode: String? = nil) -> FCMRefusal {
        FCMRefusal(
            status: 400,
            canonical: "INVALID_ARGUMENT",
            message: message,
            errorCode: errorCode,
            field: field
        )
    }

    /// The code that tests and logs show: FCM's own code, or else the canonical code.
    package var reason: String { self.errorCode ?? self.canonical }
}

extension FCMRefusal: Encodable {
    private enum CodingKeys: String, CodingKey {
        case code, message, status, details
    }

    private enum DetailKeys: String, CodingKey {
        case type = "@type"
        case errorCode, fieldViolations
    }

    private struct Violation: Encodable {
        let field: String
        let description: String
    }

    /// Encodes the value of the answer's `error`.
    package func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encode(self.status, forKey: .code)
        try object.encode(self.message, forKey: .message)
        try object.encode(self.canonical, forKey: .status)
        guard self.errorCode != nil || self.field != nil else { return }
        var details = object.nestedUnkeyedContainer(forKey: .details)
        if let errorCode {
            var detail = details.nestedContainer(keyedBy: DetailKeys.self)
            try detail.encode("type.googleapis.com/google.firebase.fcm.v1.FcmError", forKey: .type)
            try detail.encode(errorCode, forKey: .errorCode)
        }
        if let field {
            var detail = details.nestedContainer(keyedBy: DetailKeys.self)
            try detail.encode("type.googleapis.com/google.rpc.BadRequest", forKey: .type)
            try detail.encode([Violation(field: field, description: self.message)], forKey: .fieldViolations)
        }
    }
}
