internal import Bytes
internal import Cryptography
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Sessions of the console's page. The token of a session is in a cookie: no script can read this
/// cookie, and no other site can make a browser send it. Each request of the page also has the
/// field `Page-Token`, which no form can send.
///
/// A request without `Page-Token` has no session, whatever cookies it has.
struct PageSessions: Sendable {
    /// Browsers accept a cookie with the prefix `__Host-` only over an encrypted connection, and
    /// send it only to the host that has set it (RFC 6265bis section 4.1.3.2). For browsers,
    /// connections to their own machine count as encrypted.
    private static let name = "__Host-sealpost"
    private static let attributes = "Path=/; Secure; HttpOnly; SameSite=Strict"

    private let code: KeyedHash

    init(secret: IndexSecret) {
        self.code = KeyedHash(key: secret.derive("page token"))
    }

    /// Whether the console's page has sent the request: only the page sends `Page-Token`.
    static func isOfPage(_ head: RequestHead) -> Bool { head.count(of: .pageToken) > 0 }

    /// The token of a request's session; `nil` if the request is not from the console's page.
    ///
    /// Throws an `invalid-token` problem if there is no session, or `Page-Token` does not match
    /// it. If `isRestored` is `true`, the value of `Page-Token` may be empty: a page that was
    /// reloaded has lost the value, and requests it again.
    func token(of head: RequestHead, isRestored: Bool = false) throws(Problem) -> Substring? {
        guard Self.isOfPage(head) else { return nil }
        guard let token = Self.cookie(of: head), let value = head[.pageToken] else {
            throw Problem(.invalidBearerToken, "there is no session; sign in")
        }
        guard isRestored || Self.isEqual(value, self.value(for: token)) else {
            throw Problem(.invalidBearerToken, "Page-Token does not belong to the session; load the page again")
        }
        return token
    }

    /// The value of `Page-Token` for a session: a keyed hash of the session's token, so that the
    /// server need not store the value.
    func value(for token: some StringProtocol) -> String {
        Hexadecimal.text(of: self.code.code { $0.update(data: Array(token.utf8)) }.prefix(16))
    }

    /// Makes the browser store a token for `seconds` seconds.
    static func set(_ token: Secret<String>, seconds: Int64, in response: inout Response) {
        response.fields.append(.setCookie, "\(self.name)=\(token.exposed); Max-Age=\(seconds); \(self.attributes)")
    }

    /// Makes the browser delete its token.
    static func clear(in response: inout Response) {
        response.fields.append(.setCookie, "\(self.name)=; Max-Age=0; \(self.attributes)")
    }

    // MARK: - Private

    /// The cookie's value (RFC 6265 section 4.2.1); `nil` if it is missing or repeated.
    private static func cookie(of head: RequestHead) -> Substring? {
        guard head.count(of: .cookie) == 1, let field = head[.cookie] else { return nil }
        let found = field.split(separator: ";").compactMap { pair -> Substring? in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == self.name ? parts[1] : nil
        }
        return found.count == 1 ? found.first : nil
    }

    /// Compares two texts. Takes constant time for texts of the same length.
    private static func isEqual(_ first: String, _ second: String) -> Bool {
        guard first.utf8.count == second.utf8.count else { return false }
        return zip(first.utf8, second.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
