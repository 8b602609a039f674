/// The proxies that may name the client, and the field that they use for this.
///
/// Any client can send such a field, so the server believes only the parts that trusted proxies
/// have appended. It reads the addresses in the field from the right. The first address that does
/// not belong to a trusted proxy is the client's.
package struct TrustedProxies: Sendable {
    package enum Field: String, Sendable, CaseIterable {
        /// `203.0.113.7, 10.0.0.2`: no RFC defines this field, but every proxy can send it.
        case xForwardedFor = "X-Forwarded-For"
        /// `for=203.0.113.7;proto=https, for="[2001:db8::1]:4711"` (RFC 7239 §4).
        case forwarded = "Forwarded"

        fileprivate var canonicalName: String {
            switch self {
            case .xForwardedFor: "x-forwarded-for"
            case .forwarded: "forwarded"
            }
        }
    }

    package static let none = TrustedProxies(networks: [], includesUnix: false, field: .xForwardedFor)

    private let networks: [IPNetwork]
    private let includesUnix: Bool
    private let field: Field

    package init(networks: [IPNetwork], includesUnix: Bool, field: Field) {
        self.networks = networks
        self.includesUnix = includesUnix
        self.field = field
    }

    package func contains(_ peer: PeerAddress) -> Bool {
        switch peer {
        case .ip(let address): self.networks.contains { $0.contains(address) }
        case .unix: self.includesUnix
        case .process, .unknown: false
        }
    }

    /// The client: the peer itself or, if the peer is a trusted proxy, the address that the
    /// trusted proxies name.
    ///
    /// `unknown` if the proxies name the client in an unreadable form, such as an obfuscated node
    /// of RFC 7239 §6.3.
    package func client(of head: RequestHead, from peer: PeerAddress) -> PeerAddress {
        guard self.contains(peer) else { return peer }
        return self.outermostHop(of: head)?.client ?? peer
    }

    /// The name of the field if the head has it, but the peer is not trusted, so that the server
    /// ignores the field. `nil` otherwise.
    func ignoredField(of head: RequestHead, from peer: PeerAddress) -> String? {
        guard head.count(canonicalName: self.field.canonicalName) > 0, !self.contains(peer) else { return nil }
        return self.field.rawValue
    }

    /// The scheme that the client used, according to trusted proxies: in the element of
    /// `Forwarded` that names the client, or in `X-Forwarded-Proto`. `nil` if the peer is not a
    /// trusted proxy, or if the proxies do not state the scheme or contradict each other.
    package func scheme(of head: RequestHead, from peer: PeerAddress) -> HTTPScheme? {
        guard self.contains(peer) else { return nil }
        switch self.field {
        case .xForwardedFor:
            // If X-Forwarded-Proto has several elements, they cannot be matched with those of
            // X-Forwarded-For: some proxies append to a field, and other proxies replace it.
            let values = head.values(canonicalName: "x-forwarded-proto")
            return values.count == 1 ? HTTPScheme(values[0]) : nil
        case .forwarded:
            return self.outermostHop(of: head)?.scheme
        }
    }

    // MARK: - Private

    /// One hop of a request, from a client or proxy to the next proxy: the sender's address, which
    /// the receiving proxy saw, and the scheme.
    private struct Hop {
        var client: PeerAddress
        var scheme: HTTPScheme?
    }

    /// The farthest hop that a trusted proxy has reported; `nil` if none is reported.
    private func outermostHop(of head: RequestHead) -> Hop? {
        var last: Hop?
        for hop in self.hops(of: head).reversed() {
            last = hop
            guard self.contains(hop.client) else { break }
        }
        return last
    }

    /// The hops that the fields list; the nearest hop comes last.
    private func hops(of head: RequestHead) -> [Hop] {
        head.values(canonicalName: self.field.canonicalName).flatMap { value in
            value.split(separator: ",", omittingEmptySubsequences: false).map { element in
                switch self.field {
                case .xForwardedFor: Hop(client: Self.address(element))
                case .forwarded: Self.hop(ofElement: element)
                }
            }
        }
    }

    /// Makes a hop of the first `for` and the first `proto` in an element. An address contains
    /// neither comma nor semicolon, so this function splits the element without parsing quotes.
    private static func hop(ofElement element: Substring) -> Hop {
        var (node, scheme) = (Substring?.none, Substring?.none)
        for parameter in element.split(separator: ";") {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            switch parts[0].trimmingBlanks.lowercased() {
            case "for": node = node ?? self.unquoted(parts[1])
            case "proto": scheme = scheme ?? self.unquoted(parts[1])
            default: continue
            }
        }
        return Hop(client: node.map(self.address) ?? .unknown, scheme: scheme.flatMap { HTTPScheme(String($0)) })
    }

    private static func unquoted(_ text: Substring) -> Substring {
        let text = text.trimmingBlanks
        guard text.count > 1, text.first == "\"", text.last == "\"" else { return text }
        return text.dropFirst().dropLast()
    }

    /// Reads an address, which may be in brackets and may have a port.
    private static func address(_ text: Substring) -> PeerAddress {
        var text = text.trimmingBlanks
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return .unknown }
            text = text[..<end].dropFirst()
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            text = text[..<colon]
        }
        return IPAddress(text).map { .ip($0) } ?? .unknown
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        var rest = self.drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
