package import Foundation
package import PushCore

/// Reads that share one statement with other callers' reads. They avoid the ten nested async calls
/// that a fetch would otherwise need.
package protocol GatheringReader: Sendable {
    /// Prepares the read that `NotificationReader` does under the same name.
    func pendingNotification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) -> any PendingNotification
}

/// A notification that is being read for one caller.
///
/// ```swift
/// await withUnsafeContinuation { pending.begin(resume: $0) }
/// if !pending.isFinished { await pending.finish() }
/// let found = try pending.result()
/// ```
package protocol PendingNotification: AnyObject {
    /// Begins the read, once, and resumes the caller. On resumption, either the read is finished,
    /// or it is the caller's turn to read, also for others. In the second case the caller must
    /// call `finish`, whatever has happened meanwhile, since the other callers wait for that.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    var isFinished: Bool { get }

    /// Reads for this caller, and for the callers that wait meanwhile.
    func finish() async

    /// The notification, as `NotificationReader` returns it. Call it only after the read is
    /// finished.
    func result() throws(StoreError) -> StoredNotification?
}

extension StoreReader {
    package var gathering: (any GatheringReader)? { nil }
}
