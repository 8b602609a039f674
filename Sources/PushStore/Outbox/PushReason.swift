/// The reason why pushes wait or have ended, as publishers see it.
package enum PushReason {
    /// The push waits until its device connects.
    package static let away = "no event stream is open"
    /// The push waits until the interval between two pushes to its device has passed.
    package static let paced = "the device was woken a short time ago"
    package static let recalled = "recalled"
    package static let dismissed = "dismissed by the user"
    /// The user has fetched a read-once payload.
    package static let taken = "fetched by the user"
    /// The device has fetched all notifications that its push would announce.
    package static let fetched = "fetched by the device"
    package static let replaced = "replaced by a newer push with the same CollapseKey"
    /// A more urgent look of the device takes its place.
    package static let replacedLook = "replaced by a newer look"
    package static let replacedConfirmation = "replaced by a newer confirmation"
    /// An operator has cancelled this push alone.
    package static let cancelled = "cancelled by an operator"
    package static let noDevice = "the device is no longer registered"
    package static let damaged = "the row is damaged"
}
