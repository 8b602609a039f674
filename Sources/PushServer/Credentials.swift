internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// What a request shows to say who calls; not checked yet.
enum Credentials: Sendable {
    /// The whole `Authorization` field, to be read as Basic only if it is not remembered.
    case basic(field: String)
    /// What follows the scheme, RFC 6750 section 2.1.
    case bearer(Substring)

    private static let bearerScheme = Array("bearer".utf8)

    /// Throws an `unauthorized` problem if there are none, or more than one.
    init(of request: Request) throws(Problem) {
        guard request.head.count(of: .authorization) == 1, let field = request.head[.authorization] else {
            throw Problem(.unauthorized)
        }
        self.init(field: field)
    }

    init(field: String) {
        let length = Self.bearerScheme.count
        var field = field
        let isBearer = field.withUTF8 { bytes in
            // Both cases of a letter differ in one bit; what else that takes for the scheme is no token either.
            bytes.prefix(length).elementsEqual(Self.bearerScheme, by: { $0 | 0x20 == $1 })
                && (bytes.count == length || bytes[length] == UInt8(ascii: " "))
        }
        if isBearer {
            let rest = field.utf8.dropFirst(length).drop { $0 == UInt8(ascii: " ") }
            self = .bearer(field[rest.startIndex...])
        } else {
            self = .basic(field: field)
        }
    }

    /// What a refusal of them says.
    var refusal: ProblemCode {
        switch self {
        case .basic: .unauthorized
        case .bearer: .invalidBearerToken
        }
    }
}
