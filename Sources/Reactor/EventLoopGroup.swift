/// The event loops of a process: the serving loops, by default one for each core, and one loop
/// that accepts connections.
package struct EventLoopGroup: Sendable {
    package let loops: [EventLoop]
    /// The loop that accepts connections and distributes them to the other loops, so that a new
    /// client does not wait for a busy loop.
    package let acceptor: EventLoop

    /// Throws `SystemError` if a loop cannot be started.
    package init(count: Int = CoreCount.current) throws(SystemError) {
        precondition(count > 0, "a group needs a loop")
        var loops: [EventLoop] = []
        for index in 0..<count {
            loops.append(try EventLoop(index: index))
        }
        self.loops = loops
        self.acceptor = try EventLoop(index: count, name: "acceptor")
    }

    /// Stops every loop; see `EventLoop.stop()`.
    package func stop() {
        for loop in self.loops { loop.stop() }
        self.acceptor.stop()
    }
}
