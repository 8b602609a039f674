/// A request for a push, byte for byte, and the simulator's verdict on it.
package struct ReceivedPush: Sendable, Hashable {
    /// The request as received.
    package let request: SimulatedRequest
    /// The simulator's verdict.
    package let verdict: PushVerdict
}

/// A simulator's verdict on a request.
package enum PushVerdict: Sendable, Hashable {
    /// Valid, and answered as the provider answers a push that it will deliver.
    case accepted
    /// Invalid; the reason is the provider's own code or text.
    case refused(status: Int, reason: String)
    /// Not judged: the test had queued this answer.
    case scripted(status: Int)
    /// Affected by a fault; `judged` is the status of the judge's answer, if the request was still
    /// handled.
    case faulted(Fault, judged: Int? = nil)

    /// Whether the answer told the sender that the push is accepted.
    package var isAccepted: Bool { (200..<300).contains(self.status) }

    /// Whether the push has reached its device, even if the answer said otherwise.
    package var isDelivered: Bool {
        if case .faulted(_, let judged?) = self { return (200..<300).contains(judged) }
        return self.isAccepted
    }

    /// The status of the answer, where 200 stands for every accepted push; 0 if there was no
    /// answer.
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
    /// One word for a log: the fault's name, or the status.
    package var description: String {
        if case .faulted(let fault, _) = self { fault.name } else { String(self.status) }
    }
}

/// The reason why a wait for a push has failed.
package enum PushWaitError: Error, Hashable {
    /// The push did not arrive in time.
    case timedOut
    /// The push arrived, but so long ago that it is no longer kept.
    case forgotten
}
