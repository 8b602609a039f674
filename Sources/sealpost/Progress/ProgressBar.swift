import Foundation
import PushApplication
import Reactor
import Synchronization

/// Shows the progress of long work on standard error, if that is a terminal.
final class ProgressBar: Sendable {
    /// Whether standard error is a terminal.
    static var isPossible: Bool { isatty(STDERR_FILENO) == 1 }

    private struct State {
        var line: ProgressLine?
        var begin = ContinuousClock.now
        /// The time of the last drawing.
        var drawn: ContinuousClock.Instant?
    }

    // A lock protects the state, since the work and the task that watches it run on different
    // threads.
    private let state = Mutex(State())

    /// Begins a piece of work, which replaces the one before.
    func begin(_ title: String, total: Int, unit: ProgressLine.Unit) {
        guard Self.isPossible else { return }
        self.state.withLock { state in
            state = State(line: ProgressLine(title: title, unit: unit, total: total))
            Self.draw(&state)
        }
    }

    /// Updates the progress, and perhaps the total. Draws at most ten times a second.
    func update(_ done: Int, of total: Int? = nil) {
        self.state.withLock { state in
            let now = ContinuousClock.now
            guard state.line != nil, state.drawn.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
            state.line?.done = done
            if let total { state.line?.total = total }
            state.line?.elapsed = now - state.begin
            Self.draw(&state)
        }
    }

    /// Removes the line.
    func end() {
        self.state.withLock { state in
            if state.line != nil { Self.show("") }
            state = State()
        }
    }

    /// Runs `work` on this thread, and meanwhile calls `sample` four times a second for the
    /// progress. Removes the line at the end.
    func whileSampling<Value>(
        _ sample: @escaping @Sendable () -> Int?,
        _ work: () throws -> Value
    ) async throws -> Value {
        guard Self.isPossible else { return try work() }
        let loop = try EventLoop(index: 0, name: "progress")
        defer { loop.stop() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                while true {
                    // Cancellation ends the loop.
                    try await Task.sleep(for: .milliseconds(250))
                    if let done = sample() { self.update(done) }
                }
            }
            defer {
                group.cancelAll()
                self.end()
            }
            return try work()
        }
    }

    // MARK: - Private

    private static func draw(_ state: inout State) {
        guard let line = state.line else { return }
        state.drawn = .now
        self.show(line.text(columns: self.columns))
    }

    /// A failure to print progress does not matter.
    private static func show(_ text: String) {
        printEscaped(text, to: STDERR_FILENO, start: "\r", end: "\u{1B}[K")
    }

    private static var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
