internal import Foundation
internal import PushCore
internal import PushStore

/// The settlement of a push that this server has leased.
struct PushSettlement: Sendable {
    /// The values of a push that goes back to its queue.
    struct Return: Sendable {
        /// The time of the next attempt; `nil`: the push waits until its device connects.
        let dueAt: Date?
        let reason: String?
        let attempts: Int
    }

    let push: DuePush
    /// The number that this server had when it leased the push, and the number of this attempt.
    let owner: Int64
    let attempts: Int
    /// The final outcome, if the push ends. It is stored unless another server has taken the push
    /// over.
    private(set) var end: PushEnd?
    /// If not `nil`, the push becomes due again, unless it has already ended.
    private(set) var `return`: Return?
    /// The device, and its user, if the device had no event stream at this server during the
    /// attempt; otherwise `nil`.
    private(set) var away: (handle: String, user: Int64)?

    init(_ delivery: LeasedDelivery, _ settlement: Settlement, under owner: Int64, now: Date, _ index: BlindIndex) {
        self.push = delivery.key
        self.owner = owner
        self.attempts = delivery.state.attempts
        switch settlement {
        case .accepted(let providerID):
            // The provider's id of the push is stored only if it differs from the `attemptID` that
            // this server has sent.
            let isOurs = providerID == delivery.push.attemptID.text
            self.end = self.ended(.accepted, reason: nil)
            self.end?.providerID = isOurs ? nil : providerID
            self.end?.isPaced = delivery.isPaced
        case .expired: self.end = self.ended(.expired, reason: nil)
        case .failed(let reason):
            self.end = self.ended(.failed, reason: reason)
            if let handle = DeviceHandle(delivery.push.handle) {
                self.end?.address = index.hash(handle)
                self.return = Return(dueAt: now, reason: reason, attempts: self.attempts)
            }
        case .retried(let due, let reason): self.return = Return(dueAt: due, reason: reason, attempts: self.attempts)
        case .away(let reason):
            self.away = (delivery.push.handle, delivery.user)
            self.return = Return(dueAt: nil, reason: reason, attempts: self.attempts)
        case .moved(let reason): self.return = Return(dueAt: now, reason: reason, attempts: self.attempts)
        case .released: self.return = Return(dueAt: now, reason: nil, attempts: self.attempts - 1)
        }
    }

    /// Makes the push due at once, because its device has an event stream again.
    mutating func makeDueNow(now: Date) {
        guard let wait = self.return else { return }
        self.return = Return(dueAt: now, reason: wait.reason, attempts: wait.attempts)
    }

    private func ended(_ state: TallyState, reason: String?) -> PushEnd {
        PushEnd(push: self.push, state: state, reason: reason, owner: self.owner)
    }
}
