internal import GRDB
internal import PushCore

/// The column `apps` of a user: names with blanks in between, or null for the usual app only.
extension Set<AppName> {
    init(storedApps text: String?) {
        guard let text else {
            // At each sign-in.
            self = AppName.usualOnly
            return
        }
        self = Set(text.split(separator: " ").compactMap { AppName(String($0)) })
    }

    var stored: String? {
        self == AppName.usualOnly ? nil : self.sorted().map(\.description).joined(separator: " ")
    }
}

extension AppName {
    /// The column `app` of a notification: null for the usual app.
    var stored: String? { self == .usual ? nil : self.description }

    init(stored text: String?) {
        self = text.flatMap { AppName($0) } ?? .usual
    }

    /// A condition on a row of `user`, here called `u`, that holds for the users of the app.
    var hasUser: SQL {
        let isListed: SQL = "instr(' ' || u.apps || ' ', \(" \(self) ")) > 0"
        return self == .usual ? "(u.apps is null or \(isListed))" : isListed
    }
}
