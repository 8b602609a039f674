package import Foundation
package import PushCore

/// A caller's fetch of a notification.
package struct NotificationFetch: Sendable {
    package let id: NotificationID
    package let user: Int64
    package let alsoAsSender: Bool
    package let now: Date

    package init(_ id: NotificationID, for user: Int64, alsoAsSender: Bool, now: Date) {
        (self.id, self.user, self.alsoAsSender, self.now) = (id, user, alsoAsSender, now)
    }
}

/// The read of a notification for one caller.
///
/// ```swift
/// await withUnsafeContinuation { pending.begin(resume: $0) }
/// if !pending.isFinished { await pending.finish() }
/// let found = try pending.result()
/// ```
package protocol PendingNotification: AnyObject {
    /// Begins the read, and resumes the caller once. Then either the read is finished, or the
    /// caller must itself read for a group of callers. In the second case the caller must call
    /// `finish`, whatever has happened meanwhile, since the other callers wait for it.
    func begin(resume caller: UnsafeContinuation<Void, Never>)

    var isFinished: Bool { get }

    /// Reads for this caller, and for the callers that have joined its group meanwhile.
    func finish() async

    /// The notification, as `NotificationReader` returns it. Call this function only after the
    /// read is finished.
    func result() throws(StoreError) -> StoredNotification?
}
