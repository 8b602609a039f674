internal import Glibc

extension SocketAddress {
    /// Asks the kernel which address a socket is bound to. A unix socket in the abstract namespace
    /// gets a path that begins with `@`.
    ///
    /// Throws `SystemError` if `socket` is not a socket, or if its family is not IPv4, IPv6 or
    /// unix.
    package init(boundBy socket: Int32) throws(SystemError) {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(socket, $0.baseAddress, &length) }
        }
        try SystemError.check("getsockname") { result }
        // After the family, the bytes have, for IPv4, the port and the address; for IPv6, the
        // port, the flow label and the address; for a unix socket, the path.
        let familySize = MemoryLayout<sa_family_t>.size
        let bytes = withUnsafeBytes(of: &name) { Array($0.prefix(Int(length)).dropFirst(familySize)) }
        let address: SocketAddress? =
            switch Int32(name.ss_family) {
            case AF_INET: Self.tcp(AF_INET, bytes.prefix(2), bytes.dropFirst(2).prefix(4))
            case AF_INET6: Self.tcp(AF_INET6, bytes.prefix(2), bytes.dropFirst(6).prefix(16))
            case AF_UNIX: Self.unix(bytes)
            default: nil
            }
        guard let address else { throw SystemError(call: "getsockname", code: EAFNOSUPPORT) }
        self = address
    }

    private static func tcp(_ family: Int32, _ port: ArraySlice<UInt8>, _ address: ArraySlice<UInt8>) -> SocketAddress?
    {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isText = address.withUnsafeBytes { inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) } != nil
        guard isText else { return nil }
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return .tcp(host: host, port: port.reduce(0) { $0 << 8 | UInt16($1) })
    }

    private static func unix(_ path: [UInt8]) -> SocketAddress {
        let isAbstract = path.first == 0
        let name = path.dropFirst(isAbstract ? 1 : 0).prefix { $0 != 0 }
        return .unix(path: (isAbstract ? "@" : "") + String(decoding: name, as: UTF8.self))
    }
}
