internal import Reactor

/// Carries one HTTP/2 connection: reads requests, has them handled side by side, writes the answers as they come.
///
/// `@unchecked Sendable`: everything is touched on the loop's thread only, where all of its tasks are started.
final class HTTP2Connection<Stream: ByteStream & SendableMetatype>: @unchecked Sendable {
    private let stream: Stream
    private let loop: EventLoop
    private let session: HTTP2Session
    private let limits: SimulatorServer.Limits
    private let handler: SimulatorServer.Handler
    private var isFlushing = false
    private var output: [UInt8] = []

    init(
        _ stream: Stream,
        loop: EventLoop,
        limits: SimulatorServer.Limits,
        handler: @escaping SimulatorServer.Handler
    ) throws {
        self.stream = stream
        self.loop = loop
        self.limits = limits
        self.handler = handler
        self.session = try HTTP2Session(streamLimit: limits.streamsBeforeProof, provenStreamLimit: limits.streams)
    }

    /// Serves until the client has gone, breaks the protocol or rests too long, or the task is cancelled.
    ///
    /// What is being handled then is answered, as far as the socket takes it at once, and GOAWAY says which that was.
    func serve() async {
        await withDiscardingTaskGroup { group in
            await self.readRequests { arrival in
                group.addTask(executorPreference: self.loop) { await self.answer(arrival) }
            }
        }
        self.session.goAway()
        await self.flush()
    }

    private func readRequests(_ begin: (HTTP2Session.Arrival) -> Void) async {
        var buffer = [UInt8](repeating: 0, count: 32 * 1024)
        do {
            await self.flush()
            while !self.session.isFinished {
                let count = try buffer.withUnsafeMutableBytes { try self.stream.read(into: $0) }
                guard let count else {
                    try await self.stream.waitToRead(until: .now + self.limits.idleTime)
                    continue
                }
                if count == 0 { return }
                let arrivals = try buffer.withUnsafeBytes { bytes in
                    try self.session.receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
                for arrival in arrivals { begin(arrival) }
                await self.flush()
            }
        } catch {
            // A connection ends in one of many ways, and none is anything to the simulator.
            return
        }
    }

    private func answer(_ arrival: HTTP2Session.Arrival) async {
        let response = await self.handler(arrival.request)
        self.session.respond(response, on: arrival.stream)
        await self.flush()
    }

    /// Writes what the session has to send; if another task is at it, that one takes this along.
    private func flush() async {
        guard !self.isFlushing else { return }
        self.isFlushing = true
        defer { self.isFlushing = false }
        // The answers of all tasks that are ready now go out in one write.
        await Task.yield()
        do {
            while true {
                self.output.removeAll(keepingCapacity: true)
                try self.session.takeOutput(into: &self.output)
                if self.output.isEmpty { return }
                try await self.writeOutput()
            }
        } catch {
            // The reader sees the end and finishes the connection.
            self.stream.close()
        }
    }

    private func writeOutput() async throws {
        var written = 0
        while written < self.output.count {
            let count = try self.output.withUnsafeBytes { bytes in
                try self.stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            if let count {
                written += count
            } else {
                try await self.stream.waitToWrite(until: .now + self.limits.writeTime)
            }
        }
    }
}
