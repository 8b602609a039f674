import Bytes
import HTTPTypes
import PushAPI

@testable import PushServer
@testable import SocketHTTP

extension FuzzTarget {
    /// A request target: its parts add up to the whole, and decoding does not change the meaning
    /// of its path. The route table and the query's reader accept the results.
    static func target(_ bytes: [UInt8]) throws {
        for isOptions in [false, true] {
            // Most texts are not targets, for reasons that do not matter here.
            guard let target = try? RequestTarget(bytes.span, ByteRange(0, bytes.count), isOptions: isOptions) else {
                continue
            }
            let path = Array(bytes[target.path.range])
            let query = target.query.map { Array(bytes[$0.range]) }
            try require(bytes == Self.whole(target, path, query, of: bytes), "the parts of a target add up to it")
            guard path != Array("*".utf8) else { continue }
            try Self.check(path)
            _ = path.withUnsafeBufferPointer { Self.routes.match(.get, $0) }
            // A query that is not UTF-8 is the client's error.
            _ = try? Query(query.map { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// One route of each shape.
    private static let routes = RouteTable(
        [
            Paths.notifications, Paths.readNotifications, "\(Paths.notifications)/{id}",
            "\(Paths.notifications)/{id}/deliveries", "\(Paths.notifications)/{id}/taken", "/healthz",
        ].map { Route(.get, $0, .anybody) { _ in .empty } }
    )

    private static func whole(_ target: RequestTarget, _ path: [UInt8], _ query: [UInt8]?, of bytes: [UInt8]) -> [UInt8]
    {
        let start = target.authority.map { Array(bytes[..<$0.start] + bytes[$0.range]) } ?? []
        return start + path + (query.map { Array("?".utf8) + $0 } ?? [])
    }

    private static func check(_ path: [UInt8]) throws {
        try require(path.isEmpty || path.first == UInt8(ascii: "/"), "a path begins with a slash")
        guard let decoded = path.percentDecoded else { throw Contradiction(description: "a path can be decoded") }
        try require(decoded.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x5C }, "no control or backslash in a path")
        let segments = decoded.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        try require(!segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }, "no dot segments")
        let slashes = path.count { $0 == UInt8(ascii: "/") }
        try require(slashes == max(0, segments.count - 1), "no slash appears by decoding")
        try require(decoded.percentDecoded.map { $0 == decoded } ?? true, "decoding twice is decoding once")
    }
}

extension [UInt8] {
    /// The bytes with each `%` and two digits decoded; `nil` if a `%` has no two digits.
    fileprivate var percentDecoded: [UInt8]? {
        var decoded: [UInt8] = []
        var rest = self[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue else {
                return nil
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }
}
