internal import PushCore

/// The alert that a transaction has decrypted last. The pushes of a broadcast have the same alert,
/// and are leased one after the other. Parsing its JSON takes longer than the rest of a lease.
final class OpenedAlerts {
    private var last: (notification: Int64, alert: Result<PushAlert, VaultError>)?

    func alert(
        of notification: Int64,
        _ open: () throws(VaultError) -> PushAlert
    ) -> Result<PushAlert, VaultError> {
        if let last, last.notification == notification { return last.alert }
        let alert = Result { () throws(VaultError) in try open() }
        self.last = (notification, alert)
        return alert
    }
}
