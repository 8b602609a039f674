internal import Glibc

/// The header of the PROXY protocol: in it, a load balancer names its client. It comes before the
/// first byte of TLS or HTTP: <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>.
package enum ProxyHeader {
    /// The sender of the bytes that follow the header.
    package enum Source: Sendable, Hashable {
        case client(IPAddress)
        /// The load balancer itself, for example for its health check, or a client without an IP
        /// address.
        case balancer
    }

    /// The reader's next step, which depends on the bytes that it has read.
    package enum Step: Sendable, Hashable {
        /// Read exactly this number of further bytes. All of them belong to the header.
        case read(Int)
        case complete(Source)
        case malformed
    }

    /// The length of the shortest header: `PROXY UNKNOWN` and the end of its line.
    private static let shortest = 15
    /// The maximum length of a line of version 1 (section 2.1).
    private static let longestLine = 107
    /// The length of the fixed part at the beginning of a header of version 2.
    private static let fixedPart = 16
    /// The maximum length of the variable part of version 2, with addresses and further values.
    private static let longestPart = 2048
    private static let lineStart = Array("PROXY ".utf8)
    /// The first bytes of a header of version 2.
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    package static func step(after bytes: [UInt8]) -> Step {
        let isLine = zip(bytes, self.lineStart).allSatisfy { $0 == $1 }
        guard isLine || zip(bytes, self.signature).allSatisfy({ $0 == $1 }) else { return .malformed }
        guard bytes.count >= self.shortest else { return .read(self.shortest - bytes.count) }
        return isLine ? self.lineStep(bytes) : self.binaryStep(bytes)
    }

    // MARK: - Version 1

    private static func lineStep(_ bytes: [UInt8]) -> Step {
        guard bytes.suffix(2) == [0x0D, 0x0A] else {
            // If the line has ended before the last byte, the header is malformed: the bytes after
            // the line's end would be the client's.
            let hasEnd = bytes.dropLast().contains(0x0D) || bytes.contains(0x0A)
            return hasEnd || bytes.count >= self.longestLine ? .malformed : .read(1)
        }
        let words = bytes.dropLast(2).split(separator: 0x20, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // The protocol demands that the receiver ignores the rest of a line with `UNKNOWN`.
        if words[1] == "UNKNOWN" { return .complete(.balancer) }
        guard words.count == 6, words[4...].allSatisfy(self.isPort), let client = IPAddress(words[2]),
            IPAddress(words[3]) != nil, let isIPv4 = ["TCP4": true, "TCP6": false][words[1]],
            [words[2], words[3]].allSatisfy({ $0.contains(":") != isIPv4 })
        else { return .malformed }
        return .complete(.client(client))
    }

    private static func isPort(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(text) != nil
    }

    // MARK: - Version 2

    private static func binaryStep(_ bytes: [UInt8]) -> Step {
        guard bytes.count >= self.fixedPart else { return .read(self.fixedPart - bytes.count) }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard length <= self.longestPart else { return .malformed }
        let end = self.fixedPart + length
        guard bytes.count >= end else { return .read(end - bytes.count) }
        let addresses = bytes[self.fixedPart..<end]
        switch (bytes[12], bytes[13]) {
        // The command is LOCAL; its addresses have no meaning.
        case (0x20, _): return .complete(.balancer)
        case (0x21, 0x11):
            guard addresses.count >= 12 else { return .malformed }
            return .complete(.client(IPAddress(self.value(of: addresses, as: in_addr()))))
        case (0x21, 0x21):
            guard addresses.count >= 36 else { return .malformed }
            return .complete(.client(IPAddress(self.value(of: addresses, as: in6_addr()))))
        // The addresses are of an unspecified family, or of unix sockets.
        case (0x21, 0x00), (0x21, 0x31): return .complete(.balancer)
        // The header has another version or another command, or the client uses datagrams.
        default: return .malformed
        }
    }

    /// The first bytes as a value of a C structure. There must be at least as many bytes as the
    /// structure has.
    private static func value<Value>(of bytes: ArraySlice<UInt8>, as initial: Value) -> Value {
        var value = initial
        withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes.prefix($0.count)) }
        return value
    }
}
