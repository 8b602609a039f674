package import PushStore

extension PostgreSQLStore: Store {
    package func makeReader() throws(StoreError) -> any StoreReader { PostgreSQLReader(self) }
}

extension PostgreSQLReader: StoreReader {}
