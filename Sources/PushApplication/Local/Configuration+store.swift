import PushCore
import PushSQLite
package import PushStore

/// Keeps the database open while `body` runs. `creates` has the same meaning as in `openStore`.
package func withStore(
    _ configuration: Configuration,
    creates: Bool,
    _ body: (any Store) async throws -> Void
) async throws {
    let store = try configuration.openStore(creates: creates)
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
    /// Opens the server's database for a command, while no server has it open. With `admitsMoved`,
    /// also opens a database whose content was moved to another place. With `creates`, creates a
    /// missing database and its missing files of keys, as the server's first start does.
    ///
    /// Throws `CommandFailure` if the files belong to another user, or if there is no database.
    func openStore(creates: Bool = true, admitsMoved: Bool = false) throws -> any Store {
        try self.refuseForeignFiles()
        if creates { try self.refuseLostStore() } else { try self.refuseMissingStore() }
        var options = StoreOptions()
        options.now = self.makeClock().now
        options.admitsMoved = admitsMoved
        // A command must also know which kinds of events are stored: if it deletes a user, the end
        // of each of that user's pushes is an event.
        options.events = self.events.stored
        options.cluster.release = Version.current
        options.cluster.isListedAfterEnd = false
        options.cluster.dayChain = DayKeyFile(self.dayKeys)
        options.cluster.mark = TimelineFile(self.timeline)
        let keyring = try KeyringFile(self.keyring).loadOrCreate(beside: self.storePlace)
        // The server refuses to start with a database, but without this file.
        if creates, PrivateFile.isMissing(self.signingKeys), try !self.storePlace.isMade() {
            _ = try SigningKeyFile(self.signingKeys).loadOrCreate()
        }
        return try self.openStore(keyring, options)
    }

    /// Opens the database, and creates it if it is missing. Then a file in the folder of the
    /// keys shows that there is a database.
    func openStore(_ keyring: Keyring, _ options: StoreOptions) throws -> any Store {
        let store = try self.storePlace.open(keyring, options)
        if self.databaseFile != nil, PrivateFile.isMissing(self.databaseMark) {
            let text = "These keys have a database. Without this file, a missing database counts as new.\n"
            // The server also works without the file. A folder of mounted secrets, for example, is
            // read-only.
            _ = try? PrivateFile.load(self.databaseMark, what: "the mark") { text }
        }
        return store
    }

    /// Throws `CommandFailure` if there is no database: a command in the wrong folder, or without
    /// its configuration, must not create a second database. Throws `StoreError` if the database's
    /// server does not answer.
    package func refuseMissingStore() throws {
        try self.refuseLostStore()
        guard try !self.storePlace.isMade() else { return }
        throw CommandFailure(
            "there is no database: \(self.storePlace) \(self.databaseFile == nil ? "has no tables" : "does not exist"); "
                + "sealpost serve, init and user add create one"
        )
    }

    /// Throws `StoreError.lost` if the database is empty or its file is missing, although a server
    /// has used it. Otherwise a server would take it for new, and print a link that lets its
    /// reader make an administrator.
    func refuseLostStore() throws {
        // If the timeline's file exists, the opening of the database compares the timelines, and
        // then refuses an empty database itself.
        guard self.databaseFile != nil || PrivateFile.isMissing(self.timeline) else { return }
        if let loss = try self.lossOfStore() { throw loss }
    }

    /// The loss of the database's content; `nil` if the database has content, or if no server has
    /// used it.
    func lossOfStore() throws -> StoreError? {
        let place = self.storePlace
        if let file = self.databaseFile {
            let mark = self.databaseMark
            let marks = (file.isEmpty ? ["\(file)"] : []) + (PrivateFile.isMissing(mark) ? [] : [mark])
            guard file.isEmpty || !file.isMade(), !marks.isEmpty, !PrivateFile.isMissing(self.keyring) else {
                return nil
            }
            // A new database uses the existing keyring. So nobody need delete keys that may belong
            // to a backup. A keyring without the mark may come from outside, before the first
            // start.
            return .lost(
                file.isEmpty ? "\(file) is empty" : "\(file) does not exist (is its volume mounted?)",
                mark: file.isEmpty ? self.keyring : mark,
                marks: marks.joined(separator: " and ")
            )
        }
        // The keyring is no sign that a server has used the database: a new server may get the
        // keyring of other servers before it first starts. The files below are made only after the
        // tables.
        let marks = [self.timeline, self.dayKeys].filter { !PrivateFile.isMissing($0) }
        guard let mark = marks.first, try !place.isMade() else { return nil }
        return .lost("\(place) is empty", mark: mark, marks: marks.joined(separator: " and "))
    }
}
