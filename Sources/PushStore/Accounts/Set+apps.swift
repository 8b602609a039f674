package import PushCore

/// The column `apps` of a user: names with blanks in between, or null for the default app only.
extension Set<AppName> {
    package init(storedApps text: String?) {
        guard let text else {
            // The server reads this at each sign-in.
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
    /// The column `app` of a notification: null for the default app.
    package var stored: String? { self == .usual ? nil : self.description }

    package init(stored text: String?) {
        self = text.flatMap { AppName($0) } ?? .usual
    }
}
