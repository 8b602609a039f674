/// A span of a trace, for a collector: it describes a request, a commit, or a call to a provider.
///
/// All texts of a span are constants of the code, route templates, or names from the
/// configuration: a span leaves the server, so it must not contain a text that a client or a
/// provider has chosen.
package struct Span: Sendable, Hashable {
    /// The kind of a span; the raw value is OpenTelemetry's number.
    package enum Kind: Int, Sendable {
        case server = 2
        case client = 3
    }

    package enum Value: Sendable, Hashable {
        case text(String)
        case number(Int)
    }

    package struct Attribute: Sendable, Hashable {
        package let name: String
        package let value: Value

        package init(_ name: String, _ value: Value) {
            (self.name, self.value) = (name, value)
        }
    }

    package let name: String
    package let kind: Kind
    /// The id of the span's trace, and the id of the span.
    package let context: TraceContext
    /// The parent of the span; `nil` if the trace begins with this span.
    package let parent: SpanID?
    /// The start in nanoseconds since 1970.
    package let start: Int64
    package let end: Int64
    package let attributes: [Attribute]
    package let isFailed: Bool
}

/// A span that has begun. It is a class, because an optional struct that contains an instant is
/// slow to copy, and most requests have no span.
package final class OpenSpan: Sendable {
    /// The context for spans within this one: their parent is this span.
    package let context: TraceContext
    fileprivate let parent: SpanID?
    /// The start in nanoseconds since 1970.
    fileprivate let start: Int64
    fileprivate let instant = ContinuousClock.now

    init(_ context: TraceContext, of parent: SpanID?, at start: Int64) {
        (self.context, self.parent, self.start) = (context, parent, start)
    }

    /// Ends the span now, and returns it.
    func ended(_ name: String, _ kind: Span.Kind, _ attributes: [Span.Attribute], isFailed: Bool) -> Span {
        Span(
            name: name,
            kind: kind,
            context: self.context,
            parent: self.parent,
            start: self.start,
            // The end is computed from a monotonic clock, so that a jump of the wall clock does
            // not change the duration.
            end: self.start &+ (ContinuousClock.now - self.instant).nanoseconds,
            attributes: attributes,
            isFailed: isFailed
        )
    }
}

extension Duration {
    /// The duration in nanoseconds, at most 292 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooMuch ? .max : whole &+ attoseconds / 1_000_000_000
    }
}
