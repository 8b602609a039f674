internal import Glibc

/// The loops of a process, by default one for each core.
package struct EventLoopGroup: Sendable {
    package let loops: [EventLoop]

    /// Throws `SystemError` if a loop cannot be started.
    package init(count: Int = EventLoopGroup.coreCount) throws(SystemError) {
        precondition(count > 0, "a group needs a loop")
        var loops: [EventLoop] = []
        for index in 0..<count {
            loops.append(try EventLoop(index: index))
        }
        self.loops = loops
    }

    /// How many cores this process may use.
    package static var coreCount: Int {
        max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    /// Stops every loop; see `EventLoop.stop()`.
    package func stop() {
        for loop in self.loops { loop.stop() }
    }
}
