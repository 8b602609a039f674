package import Foundation
internal import PushCore

/// The form of news in the database: numbers in big-endian order, lists after their count. Delays
/// that providers asked for are rows of their own.
extension LimitNews {
    /// Changes with the form, so that servers of two versions can share a database: each ignores
    /// unknown news.
    private static let version: UInt8 = 1

    package var bytes: Data {
        var writer = LimitWriter()
        writer.write(Self.version)
        writer.write(self.uses.prefix(Int(UInt16.max))) { writer, use in
            writer.write(use.user)
            // A server that does not know the quota of changes sees an unknown role here, and
            // ignores the use.
            writer.write(use.role.code | use.kind.rawValue)
            writer.write(UInt32(clamping: use.requests))
        }
        writer.write(self.signIns.prefix(Int(UInt16.max))) { $0.write($1) }
        writer.write(self.lanes.prefix(Int(UInt16.max))) { writer, lane in
            writer.write(lane.utf8.prefix(Int(UInt16.max))) { $0.write($1) }
        }
        return Data(writer.bytes)
    }

    /// `nil` if the bytes are of another version, or are not news.
    package init?(bytes: Data) {
        var reader = LimitReader(bytes)
        do throws(LimitReader.End) {
            guard try reader.next(UInt8.self) == Self.version else { return nil }
            self.init()
            self.uses = try reader.list { reader throws(LimitReader.End) in
                let user = try reader.next(Int64.self)
                let code = try reader.next(UInt8.self)
                let requests = try reader.next(UInt32.self)
                guard let role = Role(code: code & 0x0F), let kind = QuotaUse.Kind(rawValue: code & 0xF0) else {
                    return nil
                }
                return QuotaUse(user: user, role: role, kind: kind, requests: Int(requests))
            }
            self.signIns = try reader.list { reader throws(LimitReader.End) in try reader.signIn() }
            self.lanes = try reader.list { reader throws(LimitReader.End) in
                let bytes = try reader.list { reader throws(LimitReader.End) in try reader.next(UInt8.self) }
                return String(validating: bytes, as: UTF8.self)
            }
        } catch {
            return nil
        }
    }
}

extension Role {
    fileprivate var code: UInt8 {
        switch self {
        case .device: 1
        case .publisher: 2
        case .admin: 3
        case .viewer: 4
        }
    }

    fileprivate init?(code: UInt8) {
        guard let role = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = role
    }
}

private struct LimitWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { self.bytes.append(contentsOf: $0) }
    }

    mutating func write<Element>(_ list: some Collection<Element>, _ body: (inout Self, Element) -> Void) {
        self.write(UInt16(clamping: list.count))
        for element in list { body(&self, element) }
    }

    mutating func write(_ news: SignInNews) {
        self.write(news.kind.rawValue)
        let flags = [news.isKnown, news.isNew, news.isUnderAttack, news.isCounted, news.address != nil]
        self.write(flags.enumerated().reduce(UInt8(0)) { $0 | ($1.element ? 1 << UInt8($1.offset) : 0) })
        self.write(news.account)
        self.write(news.pair)
        self.write(news.address ?? 0)
        self.write(news.count)
        self.write(news.networks.prefix(2)) { writer, network in
            writer.write(network.width)
            writer.write(network.address)
            writer.write(network.pair)
        }
    }
}

private struct LimitReader {
    /// The bytes end before the value does.
    struct End: Error {}

    private var rest: Data

    init(_ bytes: Data) {
        self.rest = bytes
    }

    mutating func next<Number: FixedWidthInteger>(_ type: Number.Type) throws(End) -> Number {
        let size = MemoryLayout<Number>.size
        guard self.rest.count >= size else { throw End() }
        let number = self.rest.withUnsafeBytes { Number(bigEndian: $0.loadUnaligned(as: Number.self)) }
        self.rest = self.rest.dropFirst(size)
        return number
    }

    /// The elements that `body` knows.
    mutating func list<Element>(_ body: (inout Self) throws(End) -> Element?) throws(End) -> [Element] {
        var list: [Element] = []
        for _ in 0..<(try self.next(UInt16.self)) {
            if let element = try body(&self) { list.append(element) }
        }
        return list
    }

    mutating func signIn() throws(End) -> SignInNews? {
        let kind = SignInNews.Kind(rawValue: try self.next(UInt8.self))
        let flags = try self.next(UInt8.self)
        var news = SignInNews(kind ?? .begun)
        news.isKnown = flags & 1 != 0
        news.isNew = flags & 2 != 0
        news.isUnderAttack = flags & 4 != 0
        news.isCounted = flags & 8 != 0
        news.account = try self.next(UInt64.self)
        news.pair = try self.next(UInt64.self)
        let address = try self.next(UInt64.self)
        news.address = flags & 16 != 0 ? address : nil
        news.count = try self.next(UInt16.self)
        news.networks = try self.list { reader throws(End) in
            SignInNews.Network(
                width: try reader.next(UInt8.self),
                address: try reader.next(UInt64.self),
                pair: try reader.next(UInt64.self)
            )
        }
        return kind == nil ? nil : news
    }
}
