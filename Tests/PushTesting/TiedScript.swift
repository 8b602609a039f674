internal import Foundation

/// A shell script that cleans up when this process or this object ends. Until then, a read of the
/// script's descriptor 3 blocks, so the script first reads that descriptor until end of file.
/// Programs that the script starts must close the descriptor.
///
/// However this process ends, the kernel closes the other end of the socket, which only this
/// process has open.
package final class TiedScript: Sendable {
    private let process: ChildProcess
    private let lifeline: Int32

    /// Starts the script with these arguments as `$1`, `$2` and so on.
    package init(_ script: String, _ arguments: [String]) throws {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw POSIXError(.EMFILE) }
        defer { close(pair[1]) }
        self.lifeline = pair[0]
        self.process = try ChildProcess(
            "/usr/bin/setsid",
            // When this object ends, `ChildProcess` kills its child. With `--fork`, the script is
            // another process, so it can still clean up.
            ["--fork", "/bin/sh", "-c", script, "sh"] + arguments,
            in: "/",
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"],
            descriptors: [pair[1]]
        )
    }

    deinit {
        close(self.lifeline)
    }
}
