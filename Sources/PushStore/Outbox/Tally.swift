/// How many pushes of a lane have ever been enqueued, and what became of them: none is ever lost without a word, so
/// what is in no other state is pending.
package struct Tally: Sendable, Hashable {
    package var enqueued = 0
    package var accepted = 0
    package var expired = 0
    package var failed = 0
    package var cancelled = 0

    package init() {}

    package var pending: Int {
        // Damaged counts are wrong, but must not end the process.
        self.enqueued &- self.accepted &- self.expired &- self.failed &- self.cancelled
    }
}
