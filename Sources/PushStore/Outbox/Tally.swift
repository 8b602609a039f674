/// The number of pushes ever enqueued in a lane, and of each outcome.
///
/// No push ends without being counted, so every push without an outcome is pending.
package struct Tally: Sendable, Hashable {
    package var enqueued = 0
    package var accepted = 0
    package var expired = 0
    package var failed = 0
    package var cancelled = 0

    package init() {}

    package var pending: Int {
        // Damaged counts may overflow, which must not end the process.
        self.enqueued &- self.accepted &- self.expired &- self.failed &- self.cancelled
    }
}
