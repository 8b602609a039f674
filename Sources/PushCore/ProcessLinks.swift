/// The objects through which the services of one process work together: the server of the API, the
/// delivery, and the store.
package struct ProcessLinks: Sendable {
    /// Wakes the delivery when the outbox has new pushes.
    package let workIsWaiting = WakeUp()
    package let streams = StreamHub()
    /// The changes that one device of a user has made and the user's other devices must show, for
    /// example that a notification was read.
    package let looks: LookBook
    /// Receives the stored outcomes of pushes.
    package let settlements: SettlementWatch
    /// Announces scheduled notifications.
    package let schedule: ReleaseSchedule
    /// The traces of requests and of their notifications, for the log and for spans.
    package let traces: RequestTraces

    package init(
        looks: LookBook = LookBook(),
        settlements: SettlementWatch = SettlementWatch(),
        schedule: ReleaseSchedule = ReleaseSchedule(),
        traces: RequestTraces = RequestTraces()
    ) {
        (self.looks, self.settlements, self.schedule, self.traces) = (looks, settlements, schedule, traces)
    }
}
