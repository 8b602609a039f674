package import PushStore

/// The store, with the connections through which the server reads it.
package struct StoreAccess: Sendable {
    let store: any Store
    /// One read-only connection for each event loop.
    let readers: [any StoreReader]
    let reports: ReportReader
    let lists: ListPool

    package init(_ store: any Store, readers: [any StoreReader], reports: ReportReader, lists: ListPool) {
        (self.store, self.readers, self.reports, self.lists) = (store, readers, reports, lists)
    }
}
