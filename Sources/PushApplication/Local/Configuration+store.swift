import PushCore
package import PushStore

/// Keeps the database open while `body` runs; with `admitsMoved` also a database that was moved to
/// another place.
package func withStore(
    _ configuration: Configuration,
    admitsMoved: Bool = false,
    _ body: (any Store) async throws -> Void
) async throws {
    let store = try configuration.openStore(admitsMoved: admitsMoved)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(store))
    } catch {
        result = .failure(error)
    }
    await store.close()
    try result.get()
}

extension Configuration {
    /// Opens the database for a command, while no server has it open. A keyring created now is
    /// also the server's.
    ///
    /// Throws `CommandFailure` if the files are another user's.
    func openStore(admitsMoved: Bool = false) throws -> any Store {
        try self.refuseForeignFiles()
        var options = StoreOptions()
        options.now = self.makeClock().now
        options.admitsMoved = admitsMoved
        // A command can end pushes, too: by deleting their user.
        options.events = self.events.stored
        options.release = Version.current
        options.isListedAfterEnd = false
        options.dayChain = DayKeyFile(self.dayKeys)
        options.mark = TimelineFile(self.timeline)
        return try self.storePlace.open(KeyringFile(self.keyring).loadOrCreate(beside: self.storePlace), options)
    }
}
