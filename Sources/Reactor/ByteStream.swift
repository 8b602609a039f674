/// A connection's bytes, in clear or through TLS. Calls never block; if a call would block, wait
/// until it can be repeated.
///
/// ```swift
/// while true {
///     if let count = try stream.read(into: buffer) { return count }
///     try await stream.waitToRead(until: deadline)
/// }
/// ```
/// Use it on the stream's loop only.
package protocol ByteStream: AnyObject {
    /// Reads the bytes that have arrived. Returns `nil` if no bytes have arrived yet, and 0 if the
    /// peer has ended its side.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int?

    /// Writes as many bytes as the stream accepts now, and returns their number; `nil` if it
    /// accepts no bytes now.
    func write(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int?

    /// Resumes `waiter` when `read` should be called again, or when the wait has ended for another
    /// reason.
    func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter)

    /// Makes the present or the next wait for readable bytes return early.
    func wakeReader()

    /// Waits until `write` should be called again.
    func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError)

    /// Tells the peer that no further bytes will be written; reading remains possible.
    func endWriting()

    /// Ends the waits and closes the connection. Closing it again does nothing.
    func close()

    /// The common name (CN) in the client's TLS certificate, which has been verified; `nil` if the
    /// client has no certificate, or its certificate does not have exactly one common name.
    var certificateName: String? { get }

    /// Whether TLS protects the bytes on this connection.
    var isEncrypted: Bool { get }
}

/// A task or an object that waits until a descriptor is ready. It is resumed once; the result is
/// `nil`, or the reason why the wait failed.
package enum Waiter {
    /// The continuation is unsafe, because a checked one costs an allocation for each wait.
    case task(UnsafeContinuation<WaitError?, Never>)
    /// The object continues before `resume` returns, and without a job on the loop. The wait of a
    /// task costs 2,000 instructions more.
    case object(any Resumable)

    package func resume(returning failure: WaitError?) {
        switch self {
        case .task(let continuation): continuation.resume(returning: failure)
        case .object(let object): object.resume(returning: failure)
        }
    }
}

/// An object that waits without a task. A stream may resume it even before the wait has begun.
package protocol Resumable: AnyObject {
    func resume(returning failure: WaitError?)
}

extension ByteStream {
    /// Waits until `read` should be called again.
    package func waitToRead(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        if let failure = await withUnsafeContinuation({ self.whenReadable(until: deadline, resume: .task($0)) }) {
            throw failure
        }
    }

    package var certificateName: String? { nil }
    package var isEncrypted: Bool { false }
}

/// The reason why a connection can carry nothing more.
package struct StreamError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
