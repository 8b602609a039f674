package import PushCore
package import PushStore

extension PostgreSQLStore: Store {
    /// All readers share the store's connections, so a reader opens no connection of its own.
    package func makeReader() throws(StoreError) -> any StoreReader { PostgreSQLReader(self) }
}

extension PostgreSQLReader: SharedReader {}

extension PostgreSQLPlace: StorePlace {
    package func open(_ keyring: Keyring, _ options: StoreOptions) throws(StoreError) -> any Store {
        try self.openStore(keyring, options)
    }
}
