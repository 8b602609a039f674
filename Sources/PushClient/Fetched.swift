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
    /// The server could not be asked: what it said at that time.
    case cached(Value, Date)

    /// The value, whatever its age.
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
