package import Foundation
package import PushCore

/// Reads that share a statement with those of other callers, and are waited for without an async function: a fetch would
/// call ten, one in the other.
package protocol GatheringReader: Sendable {
    /// Prepares what `NotificationReader` has under that name.
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
    /// Begins the read, once, and resumes the caller: then it is finished, or the caller's turn has come to read for others too. It must
    /// call `finish` then, whatever has become of it meanwhile: the others wait for that.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    var isFinished: Bool { get }

    /// Reads for this caller, and for those who wait meanwhile.
    func finish() async

    /// The notification, as `NotificationReader` returns it. Only for a read that is finished.
    func result() throws(StoreError) -> StoredNotification?
}

extension StoreReader {
    package var gathering: (any GatheringReader)? { nil }
}
