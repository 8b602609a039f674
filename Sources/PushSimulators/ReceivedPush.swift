/// A request for a push, byte for byte, and what became of it.
package struct ReceivedPush: Sendable, Hashable {
    /// The request as it came.
    package let request: SimulatedRequest
    /// What the simulator made of it.
    package let verdict: PushVerdict
}

/// What a simulator made of a request.
package enum PushVerdict: Sendable, Hashable {
    /// In order, and answered as the provider answers what it will deliver.
    case accepted
    /// Not in order; the reason is the provider's own word for it.
    case refused(status: Int, reason: String)
    /// Not judged, but answered as the test asked.
    case scripted(status: Int)
    /// Met by a fault; `judged` is the status that it deserved, if it was handled all the same.
    case faulted(Fault, judged: Int? = nil)

    /// Whether the sender was told that the push is accepted.
    package var isAccepted: Bool { (200..<300).contains(self.status) }

    /// Whether the push has gone on to its device, whatever the sender was told.
    package var isDelivered: Bool {
        if case .faulted(_, let judged?) = self { return (200..<300).contains(judged) }
        return self.isAccepted
    }

    /// The status that was answered; 0 for none.
    package var status: Int {
        switch self {
        case .accepted: 200
        case .refused(let status, _), .scripted(let status): status
        case .faulted(.answer(let status, _, _), _): status
        case .faulted(let fault, let judged): fault.losesAnswer ? 0 : judged ?? 0
        }
    }

}

extension PushVerdict: CustomStringConvertible {
    /// One word for a log: the fault's name, or else the status.
    package var description: String {
        if case .faulted(let fault, _) = self { fault.name } else { String(self.status) }
    }
}

/// Why a push that was waited for is not there.
package enum PushWaitError: Error, Hashable {
    /// The time is over.
    case timedOut
    /// It came, but so long ago that it is no longer kept.
    case forgotten
}
