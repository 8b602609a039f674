internal import Glibc

/// An Internet address. An IPv4 address is stored as an IPv6 address (RFC 4291 §2.5.5.2), so that
/// each address has a single form.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    let high: UInt64
    let low: UInt64

    /// Reads `192.0.2.1` or `2001:db8::1`. `nil` for any other text, such as a name, or an address
    /// with a port or a zone.
    package init?(_ text: some StringProtocol) {
        // `inet_pton` would take a NUL as the end of the text.
        guard !text.utf8.contains(0) else { return nil }
        let text = String(text)
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4)
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6)
    }

    init(_ address: in_addr) {
        self.high = 0
        self.low = 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: address.s_addr))
    }

    init(_ address: in6_addr) {
        (self.high, self.low) = withUnsafeBytes(of: address) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var isIPv4: Bool { self.high == 0 && self.low >> 32 == 0xFFFF }

    /// The first address of the IPv6 network that contains this address. The network's prefix has
    /// `bits` bits, at most 64.
    package func network(bits: Int) -> IPAddress {
        IPAddress(high: bits <= 0 ? 0 : self.high & ~0 << (64 - min(bits, 64)), low: 0)
    }

    package var description: String {
        self.isIPv4
            ? Self.text(AF_INET, UInt32(truncatingIfNeeded: self.low).bigEndian)
            : Self.text(AF_INET6, (self.high.bigEndian, self.low.bigEndian))
    }

    private static func text(_ family: Int32, _ address: some Any) -> String {
        String(unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                withUnsafeBytes(of: address) { bytes in
                    guard
                        let start = characters.baseAddress,
                        inet_ntop(family, bytes.baseAddress, start, socklen_t(characters.count)) != nil
                    else { return 0 }
                    return strlen(start)
                }
            }
        }
    }
}

/// A block of addresses in CIDR notation (RFC 4632): `10.0.0.0/8`, `2001:db8::/32`, or a single
/// address.
package struct IPNetwork: Sendable, Hashable {
    private let base: IPAddress
    /// The length of the prefix in bits, within the 128 bits of the stored form.
    private let prefixLength: Int

    /// `nil` if the text is not a block. Also `nil` if bits after the prefix are set, which is
    /// nearly always a mistake.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = IPAddress(parts[0]) else { return nil }
        let width = base.isIPv4 ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard let number = Int(parts[1]), (0...width).contains(number), parts[1].first != "+" else { return nil }
            length = number
        }
        self.base = base
        self.prefixLength = 128 - width + length
        guard self.masked(base) == (base.high, base.low) else { return nil }
    }

    /// The loopback networks, which only processes of this machine can reach.
    package static let loopback = ["127.0.0.0/8", "::1"].compactMap { IPNetwork($0) }

    /// Whether the network contains all addresses of IPv4 or of IPv6.
    package var isEverything: Bool {
        self.prefixLength == (self.base.isIPv4 ? 96 : 0)
    }

    package func contains(_ address: IPAddress) -> Bool {
        self.masked(address) == (self.base.high, self.base.low)
    }

    private func masked(_ address: IPAddress) -> (high: UInt64, low: UInt64) {
        (address.high & Self.mask(self.prefixLength), address.low & Self.mask(self.prefixLength - 64))
    }

    /// A mask of 64 bits, whose first `length` bits are set. A length below 0 counts as 0, and one
    /// above 64 as 64.
    private static func mask(_ length: Int) -> UInt64 {
        ~0 << (64 - max(0, min(64, length)))
    }
}
