public import Foundation

/// A value with what is known of its age: whether to show "this may be out of date".
///
/// ```swift
/// switch try await client.sync() {
/// case .fresh(let inbox): show(inbox)
/// case .cached(let inbox, let date): show(inbox, note: "As of \(date)")
/// }
/// ```
public enum Fetched<Value> {
    /// The server has given it just now, or has said just now that it is unchanged.
    case fresh(Value)
    /// The value as the server gave it at that time; it could not be asked now.
    case cached(Value, Date)

    /// The value, fresh or cached.
    public var value: Value {
        switch self {
        case .fresh(let value), .cached(let value, _): value
        }
    }

    /// When a kept value was last known to be right; `nil` of a fresh one.
    public var date: Date? {
        if case .cached(_, let date) = self { date } else { nil }
    }
}

extension Fetched: Sendable where Value: Sendable {}
extension Fetched: Equatable where Value: Equatable {}
