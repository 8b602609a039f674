package import PushCore

/// A user whom the audience of a post names.
package struct NamedUser: Sendable, Hashable {
    package let id: Int64
    private let apps: Set<AppName>
    /// Whether the user gets only end-to-end encrypted payloads.
    package let requiresEncryption: Bool

    package init(id: Int64, apps: Set<AppName>, requiresEncryption: Bool) {
        (self.id, self.apps, self.requiresEncryption) = (id, apps, requiresEncryption)
    }

    /// The user's id if the user may receive notifications of this app; otherwise `nil`.
    package func id(in app: AppName) -> Int64? { self.apps.contains(app) ? self.id : nil }
}
