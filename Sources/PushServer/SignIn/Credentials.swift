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
    /// The name in the client's TLS certificate.
    case certificate(name: String)
    /// The name that a trusted proxy gives, which has signed the client in itself.
    case identity(name: String)

    private static let bearerScheme = Array("bearer".utf8)

    /// What a trusted proxy says decides alone, as such proxies often pass on the `Authorization` that was meant for them.
    /// Else an `Authorization` field is nearer than a certificate, and decides alone.
    ///
    /// Throws an `unauthorized` problem if there is nothing, or more than one field of a kind.
    init(of request: Request, identityField: IdentityField?) throws(Problem) {
        if let name = identityField?.name(in: request) {
            self = .identity(name: name)
            return
        }
        switch request.head.count(of: .authorization) {
        case 0:
            guard let name = request.certificateName else { throw Problem(.unauthorized) }
            self = .certificate(name: name)
        case 1:
            self.init(field: request.head[.authorization] ?? "")
        default:
            throw Problem(.unauthorized)
        }
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
        case .basic, .certificate, .identity: .unauthorized
        case .bearer: .invalidBearerToken
        }
    }
}
