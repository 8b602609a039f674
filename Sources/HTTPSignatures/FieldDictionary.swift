/// The members of a structured field that is a dictionary (RFC 9651 §3.2), in order.
package typealias FieldDictionary = Keyed<FieldMember>

/// The parameters of a value or of a list (RFC 9651 §3.1.2), in order.
package typealias FieldParameters = Keyed<BareItem>

/// Values by key, in order, including repeated keys.
///
/// In a structured field the last value of a key counts. If all readers must see the same
/// value, the caller checks `hasRepeated`.
package struct Keyed<Value: Sendable & Hashable>: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let value: Value
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    package mutating func append(_ key: String, _ value: Value) {
        self.entries.append(Entry(key: key, value: value))
    }

    /// The last value of that key.
    package subscript(_ key: String) -> Value? {
        self.entries.last { $0.key == key }?.value
    }

    package func hasRepeated(_ key: String) -> Bool {
        self.entries.count { $0.key == key } > 1
    }

    package var hasRepeated: Bool {
        Set(self.entries.map(\.key)).count < self.entries.count
    }
}

/// A value with its parameters.
package struct FieldItem: Sendable, Hashable {
    package let value: BareItem
    package let parameters: FieldParameters

    package init(_ value: BareItem, parameters: FieldParameters = FieldParameters()) {
        self.value = value
        self.parameters = parameters
    }

    package var text: String { self.value.text + self.parameters.text }
}

/// A list in parentheses.
package struct InnerList: Sendable, Hashable {
    package let items: [FieldItem]
    package let parameters: FieldParameters

    package init(_ items: [FieldItem], parameters: FieldParameters = FieldParameters()) {
        self.items = items
        self.parameters = parameters
    }

    package var text: String {
        "(\(self.items.map(\.text).joined(separator: " ")))\(self.parameters.text)"
    }
}

/// The value of a dictionary's key.
package enum FieldMember: Sendable, Hashable {
    case item(FieldItem)
    case list(InnerList)
}

extension Keyed where Value == BareItem {
    package var text: String {
        self.entries.map { $0.value == .boolean(true) ? ";\($0.key)" : ";\($0.key)=\($0.value.text)" }.joined()
    }
}

extension Keyed where Value == FieldMember {
    package var text: String {
        self.entries.map { entry in
            switch entry.value {
            case .list(let list): "\(entry.key)=\(list.text)"
            case .item(let item) where item.value == .boolean(true): entry.key + item.parameters.text
            case .item(let item): "\(entry.key)=\(item.text)"
            }
        }.joined(separator: ", ")
    }
}
