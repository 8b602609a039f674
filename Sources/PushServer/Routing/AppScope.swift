internal import PushCore
internal import PushStore

/// The apps whose users, devices and pushes an administrator or a viewer sees: all of them, or
/// those that the viewer belongs to.
struct AppScope: Sendable {
    /// The apps of the configuration.
    private let apps: Set<AppName>

    init(_ settings: ServerSettings) {
        self.apps = settings.apps
    }

    /// `nil`: the caller sees all.
    func limit(of caller: User) -> Set<AppName>? {
        caller.role == .admin || caller.apps.isSuperset(of: self.apps) ? nil : caller.apps
    }

    /// Whether the caller sees a user of these apps.
    func sees(_ apps: Set<AppName>, _ caller: User) -> Bool {
        Self.sees(apps, within: self.limit(of: caller))
    }

    /// Whether a caller with this limit sees a user of these apps.
    static func sees(_ apps: Set<AppName>, within limit: Set<AppName>?) -> Bool {
        limit.map { !$0.isDisjoint(with: apps) } ?? true
    }
}
