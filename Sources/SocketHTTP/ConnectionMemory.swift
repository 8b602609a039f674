/// The application's memory of a connection, which lasts from one request to the next. Use it on
/// the connection's event loop only.
package final class ConnectionMemory {
    @exclusivity(unchecked) private var object: AnyObject?

    /// The property is computed, because other modules would ignore the attribute `@exclusivity`
    /// of a stored one.
    package var value: AnyObject? {
        get { self.object }
        set { self.object = newValue }
    }

    package init() {}
}
