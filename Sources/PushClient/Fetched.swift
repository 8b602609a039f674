public import Foundation

/// A value, and its age if it may be out of date.
///
/// ```swift
/// switch try await client.sync() {
/// case .fresh(let inbox): show(inbox)
/// case .cached(let inbox, let date): show(inbox, note: "As of \(date)")
/// }
/// ```
public enum Fetched<Value> {
    /// The server has just sent the value, or has just said that it is unchanged.
    case fresh(Value)
    /// The value as of that time: the network failed now, or the answer was not the server's own.
    case cached(Value, Date)

    /// The value, fresh or cached.
    public var value: Value {
        switch self {
        case .fresh(let value), .cached(let value, _): value
        }
    }

    /// The same with another value made of this one.
    public func map<Other>(_ transform: (Value) throws -> Other) rethrows -> Fetched<Other> {
        switch self {
        case .fresh(let value): .fresh(try transform(value))
        case .cached(let value, let date): .cached(try transform(value), date)
        }
    }

    /// When a kept value was last known to be right; `nil` for a fresh one.
    public var date: Date? {
        if case .cached(_, let date) = self { date } else { nil }
    }
}

extension Fetched: Sendable where Value: Sendable {}
extension Fetched: Equatable where Value: Equatable {}
