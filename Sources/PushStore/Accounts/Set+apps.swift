package import PushCore

/// The column `apps` of a user: the apps' names with blanks in between. It is null if the user
/// belongs only to the default app.
extension Set<AppName> {
    package init(storedApps text: String?) {
        guard let text else {
            // The shared constant avoids a new set for most users at each sign-in.
            self = AppName.usualOnly
            return
        }
        self = Set(text.split(separator: " ").compactMap { AppName(String($0)) })
    }

    package var stored: String? {
        self == AppName.usualOnly ? nil : self.sorted().map(\.description).joined(separator: " ")
    }
}

extension AppName {
    /// The value for the column `app` of a notification; `nil` for the default app.
    package var stored: String? { self == .usual ? nil : self.description }

    package init(stored text: String?) {
        self = text.flatMap { AppName($0) } ?? .usual
    }
}
