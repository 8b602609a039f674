internal import Foundation
internal import Synchronization

/// A command in its own process.
///
/// Foundation's `Process` is not an option: on Linux its `run()` reads past the end of what
/// `readdir(3)` returned, which crashes a process with many open descriptors.
///
/// The process is killed when the task that waits for it is cancelled, for example by a time
/// limit. It is also killed when the last reference to this object is gone. A child that a failed
/// test leaves behind must not keep the whole suite from ending.
package final class ChildProcess: Sendable {
    package struct Ended: Sendable {
        /// The exit code, or 128 plus the number of the signal that ended the process.
        package let code: Int32
        package let output: String
        package let errors: String
    }

    package let id: Int32
    private let isReaped = Atomic(false)
    /// The descriptors are sockets and not pipes, because sockets can be created so that no other
    /// child inherits them.
    private let output: Int32
    private let errors: Int32

    /// Starts the command in `folder`, with only the variables of `environment`, and gives the
    /// command `input` to read. In the child, `descriptors` have the numbers from 3 on.
    package init(
        _ executable: String,
        _ arguments: [String],
        in folder: String,
        environment: [String: String] = [:],
        input: String = "",
        descriptors: [Int32] = []
    ) throws {
        let pairs = try (0..<3).map { _ in try Self.makePair() }
        defer { for pair in pairs { close(pair.theirs) } }
        (self.output, self.errors) = (pairs[1].ours, pairs[2].ours)
        write(pairs[0].ours, input, input.utf8.count)
        close(pairs[0].ours)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, pair) in pairs.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, pair.theirs, Int32(number))
        }
        // The descriptors are copied first, because one of them may have the number that another
        // one gets in the child.
        let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, Int32(3 + descriptors.count)) }
        defer { for copy in copies { close(copy) } }
        for (number, copy) in copies.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, Int32(3 + number))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of Swift's tasks block nearly all signals. If a command inherited this mask,
        // a signal could not end it.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // A job in the background of a script, and a program under nohup, ignore these signals. If
        // a command inherited this, a ^C that a test types could not end it.
        var ignored = sigset_t()
        sigemptyset(&ignored)
        for number in [SIGHUP, SIGINT, SIGQUIT] { sigaddset(&ignored, number) }
        posix_spawnattr_setsigdefault(&attributes, &ignored)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        // The shell changes the folder, which posix_spawn cannot do, and then executes the
        // command.
        let words = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder, executable] + arguments
        let variables = environment.merging(Self.sanitizing) { own, _ in own }.map { "\($0)=\($1)" }
        Self.keepDescriptors()
        var id = pid_t()
        let code = Self.withCStrings(words) { words in
            Self.withCStrings(variables) { posix_spawn(&id, "/bin/sh", &actions, &attributes, words, $0) }
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        self.id = id
    }

    deinit {
        self.killUnlessEnded()
    }

    /// Reads the standard error until it contains `text`. If the stream ends first, returns what
    /// has been read.
    package func errors(until text: String) async -> String {
        await self.untilCancelled { await Self.readUntil(text, from: self.errors) }
    }

    /// Reads the standard output until it contains `text`. If the stream ends first, returns what
    /// has been read.
    package func output(until text: String) async -> String {
        await self.untilCancelled { await Self.readUntil(text, from: self.output) }
    }

    package func signal(_ number: Int32) {
        kill(self.id, number)
    }

    /// Waits for the end of the process. Call it only once.
    package func end() async -> Ended {
        await self.untilCancelled {
            // Output and errors are read at the same time, because the process may write more to
            // either than fits into the buffer of its socket.
            async let text = Self.blocking { [output] in Self.readAll(output) }
            async let reports = Self.blocking { [errors] in Self.readAll(errors) }
            let (output, errors) = await (text, reports)
            let status = await Self.blocking { self.reap() }
            let isExit = status & 0x7F == 0
            return Ended(code: isExit ? status >> 8 & 0xFF : 128 + status & 0x7F, output: output, errors: errors)
        }
    }

    // MARK: - Private

    /// The thread sanitizer's options, which commands also get. If this process is built with the
    /// sanitizer, the commands are, too.
    private static let sanitizing = ProcessInfo.processInfo.environment.filter { $0.key == "TSAN_OPTIONS" }

    private func untilCancelled<Value: Sendable>(_ body: () async -> Value) async -> Value {
        await withTaskCancellationHandler(operation: body) { self.killUnlessEnded() }
    }

    private func killUnlessEnded() {
        if !self.isReaped.load(ordering: .acquiring) { kill(self.id, SIGKILL) }
    }

    private func reap() -> Int32 {
        var status: Int32 = 0
        while waitpid(self.id, &status, 0) == -1, errno == EINTR {}
        self.isReaped.store(true, ordering: .releasing)
        return status
    }

    /// Keeps commands from inheriting descriptors that were opened without close-on-exec, such as
    /// Foundation's sockets.
    private static func keepDescriptors() {
        // A descriptor may be closed meanwhile. The error does not matter, because no command
        // inherits a closed descriptor.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            if let descriptor = Int32(name) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        }
    }

    private static func makePair() throws -> (ours: Int32, theirs: Int32) {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return (pair[0], pair[1])
    }

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    private static func readUntil(_ text: String, from descriptor: Int32) async -> String {
        await self.blocking {
            var read = ""
            while !read.contains(text), let more = self.readSome(descriptor) { read += more }
            return read
        }
    }

    private static func readSome(_ descriptor: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }

    private static func readAll(_ descriptor: Int32) -> String {
        defer { close(descriptor) }
        var text = ""
        while let more = readSome(descriptor) { text += more }
        return text
    }

    /// Runs `body`, which may block, on a new thread, because the test's own servers need the
    /// threads that run tasks.
    private static func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
