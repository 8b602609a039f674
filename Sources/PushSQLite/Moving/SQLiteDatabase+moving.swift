package import PushCore
internal import PushStore

extension SQLiteDatabase {
    /// Keeps the database open as the source of a move while `body` runs.
    ///
    /// First migrates the schema. Throws `StoreError` if the file does not exist, if another
    /// process has it open, or if it cannot be opened with the keyring. Rethrows the errors of
    /// `body`.
    package func asMoveSource<Value>(
        _ keyring: Keyring,
        _ body: (SQLiteMoveSource) async throws -> Value
    ) async throws -> Value {
        guard self.exists else { throw StoreError.cannotOpen(place: self.path, reason: "the file does not exist") }
        var options = StoreOptions()
        options.admitsMoved = true
        let store = try SQLiteStore(path: self.path, keyring: keyring, options)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(SQLiteMoveSource(store)))
        } catch {
            result = .failure(error)
        }
        await store.close()
        return try result.get()
    }
}
