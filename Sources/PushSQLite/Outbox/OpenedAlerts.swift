internal import PushCore

/// The alert that was opened last within a transaction: the pushes of a broadcast, which have one alert, are leased one after
/// the other, and reading its JSON takes longer than all else of a lease.
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
