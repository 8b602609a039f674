package import PushAPI
package import PushCore

/// What commands have the daemon do with its files, which only the program that wires everything knows.
///
/// Each answers with what the command prints; or with `Problem`, an error as commands have it, and its `ExitCode`. None of them
/// blocks, and each may take long.
package struct LocalFiles: Sendable {
    /// The keys of the keyring, and how each is used.
    package let listKeys: @Sendable () async -> JSONValue
    /// Adds a key to the keyring's file, for the actor.
    package let rotateKeys: @Sendable (AuditRecord.Actor) async -> JSONValue
    /// Removes a key that is not in use from the keyring's file, for the actor.
    package let removeKey: @Sendable (UInt32, AuditRecord.Actor) async -> JSONValue

    /// A copy of the database, to be written to a file for the actor.
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

/// A copy of the database that is made while its progress is asked for.
package struct LocalBackup: Sendable {
    /// What is done at the moment, and how much of it, in bytes; `nil` before it begins. From any thread.
    package let progress: @Sendable () -> (step: String, done: Int, total: Int)?
    /// Makes the copy, and answers as all `LocalFiles` do. If its task is cancelled it ends soon, and leaves nothing behind.
    package let run: @Sendable () async -> JSONValue

    package init(
        progress: @escaping @Sendable () -> (step: String, done: Int, total: Int)? = { nil },
        run: @escaping @Sendable () async -> JSONValue
    ) {
        self.progress = progress
        self.run = run
    }
}
