/// Which components of an answer and of its request a signature covers.
public struct SignatureCoverage: Sendable, Hashable {
    /// In their order in the signature's list, for an answer with a content of its own.
    private let components: [SignatureComponent]

    /// The answer's status and content, and the request's token, method, path and query.
    ///
    /// An answer that passes was made for a request of this method to this target.
    public static let exchange = Self(known: Self.answer.components + [.method, .path, .query])

    /// The answer's status and content, and the request's token: weaker.
    ///
    /// Everyone between client and server can put the answer to another request in the place of the right one, by sending
    /// that request with the same token: an empty 200 to `HEAD /healthz` then passes for the answer to a registration that
    /// never reached the server.
    public static let answer = Self(known: [.status, .contentDigest, .requestToken])

    /// What a list asks for; `nil` if it lacks a component of `answer`, or has one twice, or one that is not in `exchange`.
    init?(_ items: [FieldItem]) {
        let components = items.compactMap(SignatureComponent.init)
        let set = Set(components)
        guard
            components.count == items.count, set.count == items.count, set.isSuperset(of: Self.answer.components),
            set.isSubset(of: Self.exchange.components)
        else { return nil }
        self.components = components
    }

    private init(known components: [SignatureComponent]) {
        self.components = components
    }

    /// The components of an answer of that status, in their order.
    ///
    /// A 304 has its `ETag` in the place of the digest: it has no content of its own, and a digest in it would overwrite that
    /// of the stored answer (RFC 9111 §3.2).
    func components(status: Int) -> [SignatureComponent] {
        guard status == 304 else { return self.components }
        return self.components.map { $0 == .contentDigest ? .etag : $0 }
    }

    /// The list as it stands in a field.
    func list(status: Int = 200) -> String {
        InnerList(self.components(status: status).map(\.item)).text
    }
}
