internal import Foundation
internal import PushAPI

/// The content of an entry: a notification, its validator, and the time at which the server last
/// confirmed it.
struct CachedItem: Sendable, Hashable {
    let item: NotificationItem
    /// The validator (`ETag`) that the server sent with the notification; `nil` if there is none,
    /// as for an item of a list.
    let tag: String?
    let date: Date
    /// A number that grows with the item's place in the server's list. The creation times alone
    /// give no order, because they are in whole seconds. `nil` before the item was in a list.
    let order: Int64?

    init(_ item: NotificationItem, tag: String? = nil, date: Date, order: Int64? = nil) {
        self.item = item
        self.tag = tag
        self.date = date
        self.order = order
    }

    /// The same entry with a changed item. It has no validator, because the server has not sent
    /// this item.
    func with(_ item: NotificationItem) -> CachedItem { CachedItem(item, date: self.date, order: self.order) }

    var bytes: Data {
        var writer = ByteWriter()
        writer.date(self.date)
        writer.optional(self.tag) { $0.text($1) }
        writer.data(Data(self.item.json.bytes))
        // The order comes last, because versions up to 0.2.0 of this library do not read the end.
        if let order { writer.number(UInt64(bitPattern: order)) }
        return writer.bytes
    }

    /// Returns `nil` for bytes of an unknown format.
    init?(bytes: Data) {
        var reader = ByteReader(bytes)
        guard let cached = try? CachedItem(&reader) else { return nil }
        self = cached
    }

    private init(_ reader: inout ByteReader) throws {
        let (date, tag) = (try reader.date(), try reader.optional { try $0.text() })
        guard let item = NotificationItem(stored: try reader.data()) else { throw ByteReader.Malformed() }
        let order = reader.isAtEnd ? nil : Int64(bitPattern: try reader.number())
        self.init(item, tag: tag, date: date, order: order)
    }
}

/// Whether an item may be stored, according to its JSON.
extension JSONValue {
    /// The payload can be fetched only once, so no client stores it.
    var isReadOnce: Bool { self["ReadOnce"] == .bool(true) }

    /// The publisher has forbidden clients to store the payload.
    var isNeverStored: Bool { self["Store"]?.text == "never" }
}
