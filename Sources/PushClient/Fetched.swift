public import Foundation

/// A value from the server or from the cache. A cached value has its date, because it may be out
/// of date.
///
/// ```swift
/// switch try await client.sync() {
/// case .fresh(let inbox): show(inbox)
/// case .cached(let inbox, let date, let failure): show(inbox, note: "As of \(date). \(failure.advice.text)")
/// }
/// ```
public enum Fetched<Value> {
    /// The server has just sent the value, or has just confirmed that it is unchanged.
    case fresh(Value)
    /// A cached value, the time at which the server last confirmed it, and the reason why there is
    /// no newer value.
    case cached(Value, Date, because: FetchFailure)

    /// The value, fresh or cached.
    public var value: Value {
        switch self {
        case .fresh(let value), .cached(let value, _, _): value
        }
    }

    /// Whether the server has just sent the value, or has just confirmed that it is unchanged.
    public var isFresh: Bool { self.failure == nil }

    /// Returns the same result with a transformed value.
    public func map<Other>(_ transform: (Value) throws -> Other) rethrows -> Fetched<Other> {
        switch self {
        case .fresh(let value): .fresh(try transform(value))
        case .cached(let value, let date, let failure): .cached(try transform(value), date, because: failure)
        }
    }

    /// When the server last confirmed a cached value; `nil` for a fresh value.
    public var date: Date? {
        if case .cached(_, let date, _) = self { date } else { nil }
    }

    /// The reason why the client returned a cached value; `nil` for a fresh value.
    public var failure: FetchFailure? {
        if case .cached(_, _, let failure) = self { failure } else { nil }
    }
}

extension Fetched: Sendable where Value: Sendable {}
extension Fetched: Equatable where Value: Equatable {}
