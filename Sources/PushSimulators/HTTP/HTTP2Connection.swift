internal import Reactor

/// Serves one HTTP/2 connection: reads requests, handles them concurrently, writes the answers as
/// they come.
///
/// `@unchecked Sendable`: only the loop's thread uses it, and all of its tasks start there.
final class HTTP2Connection<Stream: ByteStream & SendableMetatype>: @unchecked Sendable {
    private let stream: Stream
    private let loop: EventLoop
    private let session: HTTP2Session
    private let limits: SimulatorServer.Limits
    private let handler: SimulatorServer.Handler
    private let connection: SimulatedConnection?
    /// The last stream that is handled; GOAWAY has excluded later ones.
    private var lastStream = Int32.max
    /// The pause after each sent byte; `nil` if the connection is not slow.
    private var pace: Duration?
    private var isToBeCut = false
    private var isFlushing = false
    private var output: [UInt8] = []

    init(
        _ stream: Stream,
        as connection: SimulatedConnection? = nil,
        loop: EventLoop,
        limits: SimulatorServer.Limits,
        handler: @escaping SimulatorServer.Handler
    ) throws {
        self.stream = stream
        self.loop = loop
        self.limits = limits
        self.handler = handler
        self.connection = connection
        self.session = try HTTP2Session(
            streamLimit: limits.streamsBeforeProof,
            provenStreamLimit: limits.streams,
            allowsBodies: connection?.fault != .zeroWindow
        )
    }

    /// Serves until the client has gone, breaks the protocol or is idle for too long, or the task
    /// is cancelled.
    ///
    /// At the end it answers the requests in progress, as far as the socket takes the bytes
    /// without a wait. GOAWAY names the last of these requests.
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
            // A connection can fail in many ways, and the simulator ignores all of them.
            return
        }
    }

    private func answer(_ arrival: HTTP2Session.Arrival) async {
        guard arrival.stream <= self.lastStream, self.connection?.fault != .zeroWindow else { return }
        var request = arrival.request
        request.connection = self.connection?.number ?? 0
        let response = await self.handler(request)
        switch response.fault {
        case .noAnswer: return
        case .reset, .loseAnswer: self.connection?.reset()
        case .refuseStream: self.session.refuse(arrival.stream)
        case .goAwayBefore(let reason):
            self.lastStream = arrival.stream - 1
            self.session.goAway(after: max(0, arrival.stream - 2), reason: reason)
        case .goAway(let reason):
            self.session.respond(response, on: arrival.stream)
            self.session.goAway(reason: reason)
        case .slow(let pace):
            self.pace = pace
            self.session.respond(response, on: arrival.stream)
        case .cut:
            self.isToBeCut = true
            self.session.respond(response, on: arrival.stream)
        default: self.session.respond(response, on: arrival.stream)
        }
        await self.flush()
    }

    /// Writes the session's output; if another task is writing already, that task writes this
    /// output as well.
    private func flush() async {
        guard !self.isFlushing else { return }
        self.isFlushing = true
        defer { self.isFlushing = false }
        // Yields, so that all tasks that are ready now send their answers in one write.
        await Task.yield()
        do {
            while true {
                self.output.removeAll(keepingCapacity: true)
                try self.session.takeOutput(into: &self.output)
                if self.output.isEmpty { return }
                try await self.writeOutput()
            }
        } catch {
            // This ends the task that reads requests, and that task finishes the connection.
            self.stream.close()
        }
    }

    private func writeOutput() async throws {
        var written = 0
        let end = self.isToBeCut ? self.output.count / 2 : self.output.count
        while written < end {
            let pieceEnd = self.pace == nil ? end : written + 1
            let count = try self.output.withUnsafeBytes { bytes in
                try self.stream.write(UnsafeRawBufferPointer(rebasing: bytes[written..<pieceEnd]))
            }
            if let count {
                written += count
                if let pace { try await Task.sleep(for: pace) }
            } else {
                try await self.stream.waitToWrite(until: .now + self.limits.writeTime)
            }
        }
        if self.isToBeCut { self.connection?.cut() }
    }
}
