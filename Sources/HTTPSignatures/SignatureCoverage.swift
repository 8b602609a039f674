/// The components of an answer and of its request that a signature covers.
public struct SignatureCoverage: Sendable, Hashable {
    /// The components in the order of the signature's list, for an answer with content.
    private let components: [SignatureComponent]

    /// The answer's status and content, and the request's token, method, path and query.
    ///
    /// An answer that passes the check was made for a request with the same method and target.
    public static let exchange = Self(known: Self.answer.components + [.method, .path, .query])

    /// `exchange`, and the account that the answer is for. An answer for another account has
    /// another `Sealpost-Account`, which the verifier's caller compares with its own.
    public static let account = Self(known: Self.exchange.components + [.account])

    /// The answer's status and content, and the request's token. This coverage is weaker than
    /// `exchange`.
    ///
    /// Somebody between client and server can send another request with the same token and return
    /// its answer. For example, an empty 200 to `HEAD /healthz` then passes as
    /// the answer to a registration that never reached the server.
    public static let answer = Self(known: [.status, .contentDigest, .requestToken])

    /// The coverage that a list asks for; `nil` if the list lacks a component of `answer`, repeats
    /// a component, or has one that is not part of `account`.
    init?(_ items: [FieldItem]) {
        let components = items.compactMap(SignatureComponent.init)
        let set = Set(components)
        guard
            components.count == items.count, set.count == items.count, set.isSuperset(of: Self.answer.components),
            set.isSubset(of: Self.account.components)
        else { return nil }
        self.components = components
    }

    private init(known components: [SignatureComponent]) {
        self.components = components
    }

    /// The components of an answer of that status, in order.
    ///
    /// A 304 has its `ETag` instead of the digest: it has no content of its own, and a digest in
    /// it would overwrite the digest of the stored answer (RFC 9111 §3.2).
    func components(status: Int) -> [SignatureComponent] {
        guard status == 304 else { return self.components }
        return self.components.map { $0 == .contentDigest ? .etag : $0 }
    }

    /// Whether the signature covers the account that the answer is for.
    public var coversAccount: Bool { self.components.contains(.account) }

    /// The list in the syntax of a field.
    func list(status: Int = 200) -> String {
        InnerList(self.components(status: status).map(\.item)).text
    }
}
