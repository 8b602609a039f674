/// A request for a push, byte for byte, and the simulator's verdict on it.
package struct ReceivedPush: Sendable, Hashable {
    /// The request as received.
    package let request: SimulatedRequest
    /// The simulator's verdict.
    package let verdict: PushVerdict
}

/// A simulator's verdict on a request.
package enum PushVerdict: Sendable, Hashable {
    /// The request is valid, and the answer is that of a provider that will deliver the push.
    case accepted
    /// The request is not valid; the reason is the provider's own code or text.
    case refused(status: Int, reason: String)
    /// The request was not checked, because the test had queued this answer.
    case scripted(status: Int)
    /// A fault affected the request. If the simulator has handled the request in spite of the
    /// fault, `judged` is the status that the answer would have had.
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
    /// One word for a log: the fault's name, or else the status.
    package var description: String {
        if case .faulted(let fault, _) = self { fault.name } else { String(self.status) }
    }
}

/// The reason why a wait for a push has failed.
package enum PushWaitError: Error, Hashable {
    /// The push did not arrive in time.
    case timedOut
    /// The push arrived, but so long ago that the log no longer keeps it.
    case forgotten
}
