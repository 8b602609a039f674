package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func settle(_ ended: [(LeasedDelivery, Settlement)], now: Date) async throws {
        let owners = self.leases.owners(of: ended.map(\.0.key))
        let number = self.membership.number
        let settlements = zip(ended, owners).map { one, owner in
            PushSettlement(one.0, one.1, under: owner ?? number, now: now, self.sealing.index)
        }
        let sent = settlements.filter { $0.end?.providerID == Acceptance.byStream }.map(\.push)
        // Before the commit, records which events this server's streams have received, so that
        // this server does not repeat them. After the commit, other servers see these pushes and
        // repeat them at their own streams.
        let isToBeRepeated = !sent.isEmpty && self.echoes.record(sent, at: now.milliseconds)
        do {
            try await self.settle(settlements, now: now)
        } catch is EndedBefore {
            try await self.settle(settlements, someEndedBefore: true, now: now)
        }
        self.leases.forget(ended.map(\.0.key))
        if isToBeRepeated { self.membership.announceEvents() }
    }

    // MARK: - Private

    private func settle(_ settlements: [PushSettlement], someEndedBefore: Bool = false, now: Date) async throws {
        try await self.write { tx in
            let settlements = try await self.findStreams(of: settlements, tx, now: now)
            for round in Self.rounds(settlements) {
                let (ends, returning) = (round.compactMap(\.end), round.filter { $0.return != nil })
                if returning.isEmpty, !someEndedBefore {
                    try await tx.endAll(ends, now: now)
                    continue
                }
                let ended = try await tx.end(ends, now: now)
                // A push that was refused at an address that the device no longer has is retried
                // at the new address.
                try await tx.requeue(returning.filter { !ended.contains($0.push) }, now: now)
            }
        }
    }

    /// If a push's device now has a stream, at this server or another one, makes the push due
    /// immediately. The other pushes wait until their devices connect.
    ///
    /// This must be the first step of its transaction: it locks the counters of changes of the
    /// devices' users. So a stream that is opened meanwhile finds the waiting pushes.
    private func findStreams(
        of settlements: [PushSettlement],
        _ tx: WriteTransaction,
        now: Date
    ) async throws -> [PushSettlement] {
        let away = settlements.filter { $0.away != nil }
        if away.isEmpty { return settlements }
        try await tx.lockCounters(of: away.compactMap(\.away?.user))
        let holders = try await tx.holders(of: away.map(\.push.device))
        let number = self.membership.number
        return settlements.map { settlement in
            guard let handle = settlement.away?.handle, let holder = holders[settlement.push.device] else {
                return settlement
            }
            // If the stream's row names this server, the stream may have just ended, so this
            // server's `StreamHub` is asked.
            let isListening = DeviceHandle(handle).map(self.options.streams.isListening) ?? false
            guard holder != number || isListening else { return settlement }
            var settlement = settlement
            settlement.makeDueNow(now: now)
            return settlement
        }
    }

    /// The settlements in their order, split into parts that contain each push only once. Mostly
    /// there is a single part.
    private static func rounds(_ settlements: [PushSettlement]) -> [[PushSettlement]] {
        var rounds: [[PushSettlement]] = []
        var counts: [DuePush: Int] = [:]
        for settlement in settlements {
            let round = counts[settlement.push, default: 0]
            counts[settlement.push] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(settlement)
        }
        return rounds
    }
}

/// The settlement of a push that this server has leased.
struct PushSettlement: Sendable {
    /// The values of a push that goes back to its queue.
    struct Return: Sendable {
        /// The time of the next attempt; `nil`: the push waits until its device connects.
        var dueAt: Date?
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
            self.return = Return(dueAt: nil, reason: reason, attempts: self.attempts - 1)
        case .moved(let reason): self.return = Return(dueAt: now, reason: reason, attempts: self.attempts)
        case .released: self.return = Return(dueAt: now, reason: nil, attempts: self.attempts - 1)
        }
    }

    /// Makes the push due at once, because its device has an event stream again.
    mutating func makeDueNow(now: Date) { self.return?.dueAt = now }

    private func ended(_ state: TallyState, reason: String?) -> PushEnd {
        PushEnd(push: self.push, state: state, reason: reason, owner: self.owner)
    }
}
