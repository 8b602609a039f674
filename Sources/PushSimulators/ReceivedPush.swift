/// A request for a push, byte for byte, and what became of it.
public struct ReceivedPush: Sendable, Hashable {
    /// The request as it came.
    public let request: SimulatedRequest
    /// What the simulator made of it.
    public let verdict: PushVerdict
}

/// What a simulator made of a request.
public enum PushVerdict: Sendable, Hashable {
    /// In order, and answered as the provider answers what it will deliver.
    case accepted
    /// Not in order; the reason is the provider's own word for it.
    case refused(status: Int, reason: String)
    /// Not judged, but answered as the test asked.
    case scripted(status: Int)

    /// Whether the sender was told that the push is accepted.
    public var isAccepted: Bool {
        switch self {
        case .accepted: true
        case .refused: false
        case .scripted(let status): (200..<300).contains(status)
        }
    }

    /// The status that was answered.
    public var status: Int {
        switch self {
        case .accepted: 200
        case .refused(let status, _), .scripted(let status): status
        }
    }
}

/// Why a push that was waited for is not there.
public enum PushWaitError: Error, Hashable {
    /// The time is over.
    case timedOut
    /// It came, but so long ago that it is no longer kept.
    case forgotten
}
