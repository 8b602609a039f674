package import PushAPI
package import PushCore

/// The work that commands request on the daemon's files. It consists of closures, because only the
/// executable that assembles the daemon knows these files.
///
/// Each closure returns the JSON for the command to print, or JSON with the members `Problem`, an
/// error text, and `ExitCode`, the command's exit code. No closure blocks a thread; each may take
/// long.
package struct LocalFiles: Sendable {
    /// Lists the keys of the keyring, and says what the server uses each key for.
    package let listKeys: @Sendable () async -> JSONValue
    /// Adds a key to the keyring's file. The audit names the actor.
    package let rotateKeys: @Sendable (AuditRecord.Actor) async -> JSONValue
    /// Removes from the keyring's file a key that is not in use. The audit names the actor.
    package let removeKey: @Sendable (UInt32, AuditRecord.Actor) async -> JSONValue

    /// Prepares a copy of the database to a file. The audit names the actor.
    package let backUp: @Sendable (String, AuditRecord.Actor) -> LocalBackup

    package init(
        listKeys: @escaping @Sendable () async -> JSONValue = { .null },
        rotateKeys: @escaping @Sendable (AuditRecord.Actor) async -> JSONValue = { _ in .null },
        removeKey: @escaping @Sendable (UInt32, AuditRecord.Actor) async -> JSONValue = { _, _ in .null },
        backUp: @escaping @Sendable (String, AuditRecord.Actor) -> LocalBackup = { _, _ in LocalBackup(run: { .null }) }
    ) {
        self.listKeys = listKeys
        self.rotateKeys = rotateKeys
        self.removeKey = removeKey
        self.backUp = backUp
    }
}

/// A copy of the database, with progress to read while it runs.
package struct LocalBackup: Sendable {
    /// The current step of the copy, and how many of its bytes are done; `nil` before the copy
    /// begins. Any thread may call this closure.
    package let progress: @Sendable () -> (step: String, done: Int, total: Int)?
    /// Makes the copy, and returns JSON, as all closures of `LocalFiles` do. If its task is
    /// cancelled, this closure ends soon, and deletes the unfinished copy.
    package let run: @Sendable () async -> JSONValue

    package init(
        progress: @escaping @Sendable () -> (step: String, done: Int, total: Int)? = { nil },
        run: @escaping @Sendable () async -> JSONValue
    ) {
        self.progress = progress
        self.run = run
    }
}
