internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// The credentials of a request, which are not checked yet.
enum Credentials: Sendable {
    /// The whole `Authorization` field; it is parsed only if the cache does not contain it.
    case basic(field: String)
    /// The token that follows the scheme `Bearer` (RFC 6750 section 2.1).
    case bearer(Substring)
    /// The name in the client's TLS certificate.
    case certificate(name: String)
    /// The user's name, from a trusted proxy at which the client has signed in.
    case identity(name: String)

    private static let bearerScheme = Array("bearer".utf8)

    /// Selects the credentials of a request.
    ///
    /// If a trusted proxy names the user, an `Authorization` field counts only if it contains one
    /// of the server's own tokens: other values are often meant for the proxy. Without such a
    /// token, the name from the proxy counts. If no proxy names a user, an `Authorization` field
    /// takes precedence over the session of the console's page, and the session over a
    /// certificate.
    ///
    /// `isRestored`: a page of the console that was reloaded may sign in without its `Page-Token`
    /// (see `PageSessions.token`). Throws the problems of `PageSessions.token`, and an
    /// `unauthorized` problem if there are no credentials, or more than one `Authorization` field.
    init(
        of request: Request,
        identityField: IdentityField?,
        pages: PageSessions,
        isRestored: Bool = false
    ) throws(Problem) {
        if let name = identityField?.name(in: request) {
            self = Self.token(of: request) ?? .identity(name: name)
            return
        }
        switch request.head.count(of: .authorization) {
        case 0:
            if let token = try pages.token(of: request.head, isRestored: isRestored) {
                self = .bearer(token)
                return
            }
            guard let name = request.certificateName else { throw Problem(.unauthorized) }
            self = .certificate(name: name)
        case 1:
            self.init(field: request.head[.authorization] ?? "")
        default:
            throw Problem(.unauthorized)
        }
    }

    /// The bearer token of a request, if the token has the form of the server's own tokens.
    private static func token(of request: Request) -> Credentials? {
        guard
            request.head.count(of: .authorization) == 1,
            let field = request.head[.authorization],
            case .bearer(let text) = Credentials(field: field),
            BearerToken(String(text)) != nil
        else { return nil }
        return .bearer(text)
    }

    init(field: String) {
        let length = Self.bearerScheme.count
        var field = field
        let isBearer = field.withUTF8 { bytes in
            // The upper and the lower case of a letter differ only in the bit 0x20.
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

    /// The code of the problem that refuses wrong credentials of this kind.
    var refusal: ProblemCode {
        switch self {
        case .basic, .certificate, .identity: .unauthorized
        case .bearer: .invalidBearerToken
        }
    }
}
