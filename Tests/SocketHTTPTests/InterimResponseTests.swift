import Reactor
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct InterimResponseTests {
    /// If an interim response was sent only in part, the server must send nothing more. A client
    /// would read a later answer as the rest of a line.
    @Test func nothingFollowsAnInterimResponseThatWasSentInPart() async throws {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let loop = loops.loops[0]
        let written = await withTaskGroup(of: String.self) { group in
            group.addTask(executorPreference: loop) {
                let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
                let stream = StubbornStream(head)
                await Connection(
                    stream,
                    peer: .unix,
                    limits: ServerLimits(),
                    proxies: .none,
                    responder: TestResponder(answer: echo),
                    loopState: LoopConnections(loop: loop)
                ).serve()
                return String(decoding: stream.written, as: UTF8.self)
            }
            return await group.next()
        }
        #expect(written == "HTTP/1.1 1")
    }
}

/// A stream that accepts ten bytes, and then nothing until the server's time limit. Afterwards, it
/// accepts everything.
private final class StubbornStream: ByteStream {
    private(set) var written: [UInt8] = []
    private var script: [UInt8]
    private var isStuck = false

    init(_ script: String) {
        self.script = Array(script.utf8)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard !self.script.isEmpty else { return nil }
        buffer.copyBytes(from: self.script)
        defer { self.script = [] }
        return self.script.count
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        if self.isStuck { return nil }
        let count = self.written.isEmpty ? 10 : bytes.count
        self.isStuck = self.written.isEmpty
        self.written += bytes.prefix(count)
        return count
    }

    func waitToWrite(until deadline: ContinuousClock.Instant) throws(WaitError) {
        self.isStuck = false
        throw .timedOut
    }

    func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        waiter.resume(returning: .timedOut)
    }

    func wakeReader() {}
    func endWriting() {}
    func close() {}
}
