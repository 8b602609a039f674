/// The number of pushes that were ever enqueued in a lane (a provider's queue), and the number for
/// each outcome.
///
/// The outcome of a push is counted when the push ends. So pushes without an outcome are still
/// pending.
package struct Tally: Sendable, Hashable {
    package var enqueued = 0
    package var accepted = 0
    package var expired = 0
    package var failed = 0
    package var cancelled = 0

    package init() {}

    package var pending: Int {
        // If the counts are damaged, this may overflow, which must not end the process.
        self.enqueued &- self.accepted &- self.expired &- self.failed &- self.cancelled
    }
}
