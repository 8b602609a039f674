package import PushCore

/// A user whom a post names.
package struct NamedUser: Sendable, Hashable {
    package let id: Int64
    private let apps: Set<AppName>
    /// Whether the user gets end-to-end payloads only.
    package let requiresEncryption: Bool

    package init(id: Int64, apps: Set<AppName>, requiresEncryption: Bool) {
        (self.id, self.apps, self.requiresEncryption) = (id, apps, requiresEncryption)
    }

    /// The id if the user may receive the app's notifications.
    package func id(in app: AppName) -> Int64? { self.apps.contains(app) ? self.id : nil }
}
