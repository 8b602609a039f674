/// The application's memory of a connection, which lasts from one request to the next. Use it on
/// the connection's event loop only.
package final class ConnectionMemory {
    @exclusivity(unchecked) package var value: AnyObject?

    package init() {}
}
