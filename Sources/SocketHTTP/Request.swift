/// One request, as handlers get it. It stays on the event loop of its connection. It is a
/// class, so that a function call does not copy its parts.
package final class Request {
    package let head: RequestHead
    package let body: RequestBody
    /// The other end of the connection, which may be a proxy.
    package let peer: PeerAddress
    /// The index of the connection's loop in its group.
    package let loopIndex: Int
    /// The common name in the client's TLS certificate, which has been verified; `nil` without a
    /// certificate.
    package let certificateName: String?
    /// Whether this connection uses TLS. `false` if the client uses TLS only to a proxy.
    package let isEncrypted: Bool
    private let proxies: TrustedProxies
    /// The memory of the connection.
    package let memory: ConnectionMemory

    package init(
        head: RequestHead,
        body: RequestBody,
        peer: PeerAddress,
        loopIndex: Int,
        certificateName: String? = nil,
        isEncrypted: Bool = false,
        proxies: TrustedProxies = .none,
        memory: ConnectionMemory = ConnectionMemory()
    ) {
        self.head = head
        self.body = body
        self.peer = peer
        self.loopIndex = loopIndex
        self.certificateName = certificateName
        self.isEncrypted = isEncrypted
        self.proxies = proxies
        self.memory = memory
    }

    /// Whether the other end of the connection is a trusted proxy, which may name the client.
    package var isFromTrustedProxy: Bool { self.proxies.contains(self.peer) }

    /// The client: the address that trusted proxies name, or else the other end of the connection.
    package var client: PeerAddress { self.proxies.client(of: self.head, from: self.peer) }

    /// If the request has a forwarded field but its peer is not a trusted proxy, the name of this
    /// field, which the server ignores. `nil` otherwise.
    package var ignoredForwardedField: String? { self.proxies.ignoredField(of: self.head, from: self.peer) }

    /// The scheme that the client used; `nil` if the server cannot know it. A proxy that does not
    /// state the scheme may itself have terminated TLS.
    package var scheme: HTTPScheme? {
        self.isEncrypted ? .https : self.proxies.scheme(of: self.head, from: self.peer)
    }

    /// The address that identifies the client for limits; for IPv6 it is the /64 network. `nil` if
    /// many clients would share this address, as with a local socket, or with a proxy that names
    /// no client.
    package var origin: PeerAddress? {
        let client = self.client
        guard case .ip = client, !self.proxies.contains(client) else { return nil }
        return client.origin
    }
}
