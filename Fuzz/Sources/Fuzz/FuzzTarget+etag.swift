import CivilTime

@testable import PushServer
@testable import SocketHTTP

extension FuzzTarget {
    /// `If-None-Match` and `If-Match`: a list names our entity tag if and only if one of its
    /// members is ours. Weak members count only for the first field. The target also reads the
    /// bytes as `If-Modified-Since`: a date that is written is read as the same date.
    static func etag(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let own = EntityTag(description: #""5ea1""#)
        let (weakly, strongly) = (Self.isNamed(own, by: text, byWeak: true), Self.isNamed(own, by: text, byWeak: false))
        try require(own.isNamed(by: text) == weakly, "\(own) is named as it should be by \(text)")
        try require(own.isNamed(by: text, .strong) == strongly, "\(own) is named strongly as it should be by \(text)")
        try require(weakly || !strongly, "who is named strongly is named weakly, too, by \(text)")
        // This leap second alone would end in a year of five digits.
        guard let date = HTTPDate(text), date < HTTPDate(seconds: 253_402_300_800) else { return }
        try require(HTTPDate(date.description) == date, "\(date) is read as it is written")
    }

    /// RFC 9110 sections 5.6.1 and 8.8.3, byte by byte: members before the first invalid one
    /// count.
    private static func isNamed(_ tag: EntityTag, by list: String, byWeak: Bool) -> Bool {
        let own = Array(tag.description.utf8)
        var rest = Array(list.utf8)[...]
        while true {
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x2C }
            guard let first = rest.first else { return false }
            if first == UInt8(ascii: "*") { return rest.dropFirst().first.map { $0 == 0x20 || $0 == 0x2C } ?? true }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.popFirst() == 0x22, let end = rest.firstIndex(of: 0x22) else { return false }
            if byWeak || !isWeak, [0x22] + rest[...end] == own[...] { return true }
            rest = rest[(end + 1)...]
        }
    }
}
