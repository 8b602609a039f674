internal import PushCore
internal import PushStore

/// The apps whose users, devices and pushes an administrator or a viewer sees: all apps, or the
/// viewer's own apps.
struct AppScope: Sendable {
    /// The apps of the configuration.
    private let apps: Set<AppName>

    init(_ settings: ServerSettings) {
        self.apps = settings.apps
    }

    /// The apps that the caller sees; `nil` if the caller sees all apps.
    func limit(of caller: User) -> Set<AppName>? {
        caller.role == .admin || caller.apps.isSuperset(of: self.apps) ? nil : caller.apps
    }

    /// Whether the caller sees a user who belongs to these apps.
    func sees(_ apps: Set<AppName>, _ caller: User) -> Bool {
        Self.sees(apps, within: self.limit(of: caller))
    }

    /// Whether a caller who sees the apps of `limit` sees a user who belongs to `apps`.
    static func sees(_ apps: Set<AppName>, within limit: Set<AppName>?) -> Bool {
        limit.map { !$0.isDisjoint(with: apps) } ?? true
    }
}
