internal import Glibc

/// The reason why a wait ended although the descriptor is not ready.
package enum WaitError: Error, Hashable {
    case timedOut
    case cancelled
    case closed
}

/// A non-blocking descriptor on which tasks of one loop can wait. Owns and closes the descriptor.
///
/// The object remembers that the descriptor is ready. So make the system call first, and wait only
/// if it would block. A wait may return early, so repeat the system call after it. Use the
/// descriptor on the loop only.
package final class Descriptor: ReadinessHandler {
    /// Becomes -1 when the descriptor is closed, because the kernel then reuses the number for
    /// another file.
    @exclusivity(unchecked) package private(set) var number: Int32
    package let loop: EventLoop

    private var token: WatchToken?
    private let reader: Side
    private let writer: Side

    /// Takes ownership of `number`, which must be non-blocking; `number` is closed even if this
    /// initializer throws.
    package init(_ number: Int32, on loop: EventLoop) throws(SystemError) {
        self.number = number
        self.loop = loop
        self.reader = Side(loop: loop)
        self.writer = Side(loop: loop)
        do {
            self.token = try loop.watch(number, for: [.read, .write, .hangUp], trigger: .edge, handler: self)
        } catch {
            Glibc.close(number)
            throw error
        }
    }

    /// Waits until a read would not block.
    package func waitToRead(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        if let failure = await withUnsafeContinuation({ self.whenReadable(until: deadline, resume: .task($0)) }) {
            throw failure
        }
    }

    /// Resumes the waiter when a read would not block. This is not an async function, since an
    /// async call costs 500 instructions in a task with its own executor.
    package func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        self.loop.assertOnLoop()
        self.reader.wait(until: deadline, resume: waiter)
    }

    /// Makes the current wait to read, or else the next one, return even if there is nothing to
    /// read.
    package func wakeReader() {
        self.loop.assertOnLoop()
        self.reader.markReady()
    }

    /// Waits until a write would not block.
    package func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        self.loop.assertOnLoop()
        if let failure = await withUnsafeContinuation({ self.writer.wait(until: deadline, resume: .task($0)) }) {
            throw failure
        }
    }

    /// Ends the waits, removes the watch and closes the descriptor. Further calls do nothing.
    package func close() {
        guard let token = self.token.take() else { return }
        self.loop.forget(token, of: self.number)
        Glibc.close(self.number)
        self.number = -1
        self.reader.close()
        self.writer.close()
    }

    /// Runs `body`; when the task is cancelled, the current wait and all later ones end with
    /// `cancelled`.
    ///
    /// Use it once for a whole connection, because a cancellation handler for each wait would cost
    /// more than the wait.
    package func cancellingWaits<Result>(_ body: () async -> Result) async -> Result {
        // `nonisolated(unsafe)` is safe, because the reference is used only on the descriptor's
        // loop.
        nonisolated(unsafe) let descriptor = self
        let loop = self.loop
        return await withTaskCancellationHandler {
            await body()
        } onCancel: {
            loop.execute { descriptor.cancelWaits() }
        }
    }

    /// Ends the current waits and all later ones with `cancelled`.
    package func cancelWaits() {
        self.reader.end(.cancelled)
        self.writer.end(.cancelled)
    }

    /// Whether there may be bytes to read that no wait has reported yet.
    package var mayRead: Bool { self.reader.isReady }

    /// Must be called before a read: forgets that the descriptor was ready to read.
    package func willRead() {
        self.reader.useReadiness()
    }

    package func handle(_ readiness: Readiness) {
        // The kernel reports the end of the stream only once, perhaps together with bytes, so from
        // now on the descriptor must count as ready to read.
        if readiness.contains(.hangUp) { self.reader.staysReady = true }
        // The reader comes last: an object that waits to read may also write before it returns.
        if !readiness.isDisjoint(with: [.write, .hangUp]) { self.writer.markReady() }
        if !readiness.isDisjoint(with: [.read, .hangUp]) { self.reader.markReady() }
    }
}

/// One direction of a descriptor: reading or writing.
private final class Side {
    private(set) var isReady = false
    var staysReady = false
    private var ended: WaitError?
    /// The waiter is resumed exactly once: `resume` removes it from this property first, and
    /// closing the descriptor ends a wait that is still there.
    @exclusivity(unchecked) private var waiter: Waiter?
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.timer = LoopTimer(loop: loop) { [weak self] in self?.resume(.timedOut) }
    }

    func wait(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        if let ended { return waiter.resume(returning: ended) }
        if self.isReady {
            self.useReadiness()
            return waiter.resume(returning: nil)
        }
        precondition(self.waiter == nil, "one wait at a time on each side")
        self.waiter = waiter
        self.timer?.arm(at: deadline)
    }

    func markReady() {
        if self.waiter == nil {
            self.isReady = true
        } else {
            self.useReadiness()
            self.resume(nil)
        }
    }

    func useReadiness() {
        self.isReady = self.staysReady
    }

    func end(_ reason: WaitError) {
        if self.ended == nil { self.ended = reason }
        self.resume(reason)
    }

    func close() {
        self.end(.closed)
        self.timer?.abandon()
    }

    private func resume(_ failure: WaitError?) {
        guard let waiter = self.waiter.take() else { return }
        self.timer?.disarm()
        waiter.resume(returning: failure)
    }
}
