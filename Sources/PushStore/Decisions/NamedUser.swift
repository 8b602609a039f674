package import PushCore

/// A user whom a post names.
package struct NamedUser: Sendable, Hashable {
    package let id: Int64
    private let apps: Set<AppName>

    package init(id: Int64, apps: Set<AppName>) {
        (self.id, self.apps) = (id, apps)
    }

    /// The id if the user may receive the app's notifications.
    package func id(in app: AppName) -> Int64? { self.apps.contains(app) ? self.id : nil }
}
