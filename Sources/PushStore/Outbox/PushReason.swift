/// The reasons why a push waits or has ended, in the words for publishers.
package enum PushReason {
    /// The push waits until its device connects.
    package static let away = "no event stream is open"
    /// The push waits for the minimum interval between two pushes to its device.
    package static let paced = "the device was woken a short time ago"
    package static let recalled = "recalled"
    package static let dismissed = "dismissed by the user"
    /// The user has collected the read-once payload.
    package static let taken = "fetched by the user"
    /// The device has already fetched all notifications that this push would announce.
    package static let fetched = "fetched by the device"
    package static let replaced = "replaced by a newer push with the same CollapseKey"
    /// The push only told the device to sync, and a more urgent push of this kind has replaced it.
    package static let replacedLook = "replaced by a newer look"
    package static let replacedConfirmation = "replaced by a newer confirmation"
    /// An operator has cancelled this single push.
    package static let cancelled = "cancelled by an operator"
    package static let noDevice = "the device is no longer registered"
    package static let deviceGone = "the device is gone"
    package static let damaged = "the row is damaged"
}
