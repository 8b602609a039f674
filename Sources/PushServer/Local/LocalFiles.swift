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

    package init(
        listKeys: @escaping @Sendable () async -> JSONValue = { .null },
        rotateKeys: @escaping @Sendable (AuditRecord.Actor) async -> JSONValue = { _ in .null },
        removeKey: @escaping @Sendable (UInt32, AuditRecord.Actor) async -> JSONValue = { _, _ in .null }
    ) {
        self.listKeys = listKeys
        self.rotateKeys = rotateKeys
        self.removeKey = removeKey
    }
}
