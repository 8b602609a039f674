internal import Glibc

/// The addresses that a client may connect to, whatever host name has resolved to them.
package enum AddressPolicy: Sendable, Hashable {
    /// Every address: for hosts that the operator has named.
    case any
    /// Only addresses of the public Internet: for hosts that a client has named.
    case globalOnly

    /// Whether a connection to `address` is allowed; `false` for a `sockaddr` that is cut off or
    /// of another family.
    func allows(_ address: UnsafeRawBufferPointer) -> Bool {
        guard address.count >= MemoryLayout<sockaddr>.offset(of: \.sa_data) ?? .max else { return false }
        switch Int32(address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard address.count >= MemoryLayout<sockaddr_in>.size else { return false }
            let name = address.loadUnaligned(as: sockaddr_in.self)
            return self == .any || Self.isGlobal(v4: UInt32(bigEndian: name.sin_addr.s_addr))
        case AF_INET6:
            guard address.count >= MemoryLayout<sockaddr_in6>.size else { return false }
            let name = address.loadUnaligned(as: sockaddr_in6.self)
            return self == .any || withUnsafeBytes(of: name.sin6_addr) { Self.isGlobal(v6: Array($0)) }
        default: return false
        }
    }

    /// Whether a connection to a numeric address is allowed; `false` if the text is not an
    /// address.
    package func allows(_ text: String) -> Bool {
        // A NUL is refused, because the C library would treat it as the end of the text.
        guard !text.utf8.contains(0) else { return false }
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            return self == .any || Self.isGlobal(v4: UInt32(bigEndian: v4.s_addr))
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return false }
        return self == .any || withUnsafeBytes(of: v6) { Self.isGlobal(v6: Array($0)) }
    }

    // MARK: - The registries

    /// The networks that https://www.iana.org/assignments/iana-ipv4-special-registry does not call
    /// globally reachable; multicast networks; and the public address of one metadata service.
    private static let refusedV4: [(network: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8),  // this network
        (0x0A00_0000, 8),  // private
        (0x6440_0000, 10),  // carrier-grade NAT; a metadata service at 100.100.100.200
        (0x7F00_0000, 8),  // loopback
        (0xA83F_8110, 32),  // 168.63.129.16, Azure's host
        (0xA9FE_0000, 16),  // link-local; metadata at 169.254.169.254
        (0xAC10_0000, 12),  // private
        (0xC000_0000, 24),  // protocol assignments
        (0xC000_0200, 24),  // documentation
        (0xC058_6300, 24),  // 6to4 relays
        (0xC0A8_0000, 16),  // private
        (0xC612_0000, 15),  // benchmarks
        (0xC633_6400, 24),  // documentation
        (0xCB00_7100, 24),  // documentation
        (0xE000_0000, 3),  // multicast, reserved, broadcast
    ]

    private static func isGlobal(v4 address: UInt32) -> Bool {
        !self.refusedV4.contains { (address ^ $0.network) >> (32 - $0.bits) == 0 }
    }

    /// Only 2000::/3 is global unicast, and not all of it. An IPv6 address that contains an IPv4
    /// address is refused, except in the form of NAT64: there the IPv4 address decides.
    private static func isGlobal(v6 bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return self.isGlobal(v4: bytes[12...].reduce(0) { $0 << 8 | UInt32($1) })
        }
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        switch (bytes[0], bytes[1]) {
        case (0x20, 0x01):
            // This refuses 2001::/23 (protocol assignments and Teredo) and 2001:db8::/32
            // (documentation).
            return bytes[2] >= 0x02 && !(bytes[2] == 0x0D && bytes[3] == 0xB8)
        case (0x20, 0x02): return false  // 6to4
        case (0x3F, 0xFF): return bytes[2] & 0xF0 != 0  // documentation
        default: return true
        }
    }
}
