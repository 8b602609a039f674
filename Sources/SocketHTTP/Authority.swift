internal import Bytes
internal import Glibc

/// The grammar of `uri-host [ ":" port ]` (RFC 9112 §3.2, RFC 3986 §3.2): of the field `Host`, and
/// of the authority in absolute-form.
enum Authority {
    /// Whether the bytes in `range` are a non-empty host, with or without a port. A user name is
    /// not allowed.
    static func isValid(_ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
        guard !range.isEmpty else { return false }
        let hostEnd: Int
        if bytes[range.start] == UInt8(ascii: "[") {
            guard let end = self.endOfAddress(bytes, range) else { return false }
            hostEnd = end
        } else {
            guard let end = self.endOfName(bytes, range), end > range.start else { return false }
            hostEnd = end
        }
        return hostEnd == range.end || self.isPort(bytes, ByteRange(hostEnd, range.end))
    }

    private static func endOfName(_ bytes: Span<UInt8>, _ range: ByteRange) -> Int? {
        var index = range.start
        while index < range.end, bytes[index] != UInt8(ascii: ":") {
            if bytes[index] == UInt8(ascii: "%") {
                guard
                    range.end - index > 2,
                    bytes[index + 1].isHexDigit,
                    bytes[index + 2].isHexDigit
                else { return nil }
                index += 3
            } else {
                guard ByteSet.hostName.contains(bytes[index]) else { return nil }
                index += 1
            }
        }
        return index
    }

    /// The index after the bracket that closes an IPv6 address; `nil` for another form. RFC 3986's
    /// form for later IP versions is not accepted, either.
    private static func endOfAddress(_ bytes: Span<UInt8>, _ range: ByteRange) -> Int? {
        var end = range.start + 1
        while end < range.end, bytes[end] != UInt8(ascii: "]") {
            // `inet_pton` alone would not suffice: it would stop at a NUL, and accept a zone.
            guard bytes[end].isHexDigit || bytes[end] == 0x3A || bytes[end] == 0x2E else { return nil }
            end += 1
        }
        guard end < range.end else { return nil }
        var address = in6_addr()
        guard inet_pton(AF_INET6, bytes.string(ByteRange(range.start + 1, end)), &address) == 1 else { return nil }
        return end + 1
    }

    /// Whether the bytes are a colon and a port; the grammar allows an empty port.
    private static func isPort(_ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
        guard bytes[range.start] == UInt8(ascii: ":"), range.count <= 6 else { return false }
        var port = 0
        for index in range.range.dropFirst() {
            guard bytes[index].isDigit else { return false }
            port = port * 10 + Int(bytes[index] - 0x30)
        }
        return port <= 65_535
    }
}
