/// One request, as a handler sees it. It stays on the loop of its connection. It is a class, so
/// that passing it on does not copy its parts.
package final class Request {
    package let head: RequestHead
    package let body: RequestBody
    /// The other end of the connection, which may be a proxy.
    package let peer: PeerAddress
    /// The index of the connection's loop in its group.
    package let loopIndex: Int
    /// The common name in the client's TLS certificate, which has been verified; `nil` without
    /// one.
    package let certificateName: String?
    /// Whether this connection uses TLS. `false` if only the connection between client and proxy
    /// does.
    package let isEncrypted: Bool
    private let proxies: TrustedProxies

    package init(
        head: RequestHead,
        body: RequestBody,
        peer: PeerAddress,
        loopIndex: Int,
        certificateName: String? = nil,
        isEncrypted: Bool = false,
        proxies: TrustedProxies = .none
    ) {
        self.head = head
        self.body = body
        self.peer = peer
        self.loopIndex = loopIndex
        self.certificateName = certificateName
        self.isEncrypted = isEncrypted
        self.proxies = proxies
    }

    /// Whether the other end of the connection is a proxy that may name the client.
    package var isFromTrustedProxy: Bool { self.proxies.contains(self.peer) }

    /// The client: the other end, or the address that trusted proxies name.
    package var client: PeerAddress { self.proxies.client(of: self.head, from: self.peer) }

    /// The forwarded field that is ignored, because the peer is not a trusted proxy; `nil` if
    /// there is none.
    package var ignoredForwardedField: String? { self.proxies.ignoredField(of: self.head, from: self.peer) }

    /// The scheme that the client used; `nil` if it is unknown: a proxy that does not state it may
    /// have ended TLS.
    package var scheme: HTTPScheme? {
        self.isEncrypted ? .https : self.proxies.scheme(of: self.head, from: self.peer)
    }

    /// The client's address for limits; for IPv6 the /64. `nil` if many clients would share it, as
    /// with a local socket, or a proxy that names no client.
    package var origin: PeerAddress? {
        let client = self.client
        guard case .ip = client, !self.proxies.contains(client) else { return nil }
        return client.origin
    }
}
