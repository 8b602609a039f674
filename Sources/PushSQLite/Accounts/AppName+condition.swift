internal import PushCore
internal import SQLite

extension AppName {
    /// A condition on a row of `user`, here called `u`, that holds for the users of the app.
    var hasUser: SQL {
        let isListed: SQL = "instr(' ' || u.apps || ' ', \(" \(self) ")) > 0"
        return self == .usual ? "(u.apps is null or \(isListed))" : isListed
    }
}
