package import PushCore

/// The column `apps` of a user: the apps' names with blanks in between. It is null if the user
/// belongs only to the default app.
extension Set<AppName> {
    package init(storedApps text: String?) {
        // The shared constant avoids a new set for most users at each sign-in.
        self = text.map { Set(names: $0) } ?? AppName.usualOnly
    }

    package var stored: String? { self == AppName.usualOnly ? nil : self.names }

    init(names: String) { self = Set(names.split(separator: " ").compactMap { AppName(String($0)) }) }

    var names: String { self.sorted().map(\.description).joined(separator: " ") }
}

extension AppName {
    /// The value for the column `app` of a notification; `nil` for the default app.
    package var stored: String? { self == .usual ? nil : self.description }

    package init(stored text: String?) {
        self = text.flatMap { AppName($0) } ?? .usual
    }
}
