internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A response as the network delivered it, not yet checked.
struct RawResponse: Sendable {
    /// How the transfer ended.
    enum End: Sendable, Hashable {
        case complete
        /// The connection ended before the body did.
        case cut
        /// The body has more bytes than the limit, and is left out.
        case oversized(limit: Int)
    }

    let response: HTTPURLResponse
    let body: Data
    var end = End.complete
    /// Whether the answer asks for Basic credentials, according to the system.
    var isChallenge = false

    var status: Int { self.response.statusCode }

    /// The value of a field, without blanks around it. The case of the field's name does not
    /// matter.
    func field(_ name: String) -> String? {
        self.response.value(forHTTPHeaderField: name)?.trimmingCharacters(in: .whitespaces)
    }
}

extension RawResponse {
    /// An answer that the app's own HTTP client has received.
    init(_ head: HTTPURLResponse, _ body: Data, upTo maximum: Int) {
        self.init(response: head, body: body.count > maximum ? Data() : body)
        if body.count > maximum { self.end = .oversized(limit: maximum) }
        self.isChallenge = Self.isChallenge(head)
    }

    /// Whether an answer asks for Basic credentials.
    static func isChallenge(_ head: HTTPURLResponse) -> Bool {
        let challenge = head.value(forHTTPHeaderField: "WWW-Authenticate") ?? ""
        return head.statusCode == 401 && challenge.lowercased().hasPrefix("basic")
    }
}
