import Foundation
import Glibc
import PushTesting
import Synchronization
import Testing

@testable import Reactor

/// Runs `body` on a new event loop.
func withLoop<Result: Sendable>(_ body: @Sendable @escaping (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop(index: 0)
    defer { loop.stop() }
    return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask(executorPreference: loop) { try await body(loop) }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

/// The events of a test, in order.
private final class Events: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { self.events.withLock { $0 } }

    func append(_ event: String) {
        self.events.withLock { $0.append(event) }
    }
}

private func socketPair(on loop: EventLoop) throws -> (SocketStream, SocketStream) {
    var pair: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
    try SystemError.check("socketpair") { socketpair(AF_UNIX, type, 0, &pair) }
    return (SocketStream(try Descriptor(pair[0], on: loop)), SocketStream(try Descriptor(pair[1], on: loop)))
}

/// Reads without a task, and closes its stream after the letter b.
private final class ClosingReader: Resumable {
    private let stream: SocketStream
    private var test: UnsafeContinuation<Void, Never>?
    private(set) var events: [String] = []

    init(_ stream: SocketStream) {
        self.stream = stream
    }

    /// Resumes the test when a wait has failed.
    func read(untilEnd test: UnsafeContinuation<Void, Never>) {
        self.test = test
        self.resume(returning: nil)
    }

    func resume(returning failure: WaitError?) {
        if let failure {
            self.events.append("\(failure)")
            self.test.take()?.resume()
            return
        }
        var buffer = [UInt8](repeating: 0, count: 8)
        // If the read fails, no event follows, and an expectation of the test fails.
        if let count = try? buffer.withUnsafeMutableBytes({ try self.stream.read(into: $0) }) {
            self.events.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
        if self.events.last == "b" { self.stream.close() }
        self.stream.whenReadable(until: .now + .seconds(60), resume: .object(self))
    }
}

@Suite(.timeLimit(.minutes(5))) struct EventLoopTests {
    @Test func aTaskRunsOnItsLoopFromStartToEndAlsoAfterAWait() async throws {
        let places = try await withLoop { loop in
            var places = [loop.isCurrent]
            await Task.yield()
            places.append(loop.isCurrent)
            try await Task.sleep(for: .milliseconds(1))
            places.append(loop.isCurrent)
            return places
        }
        #expect(places == [true, true, true])
    }

    @Test func longestTurnIsReportedForAMinuteAtLeast() async throws {
        try await withLoop { loop in
            usleep(50_000)
            // The loop's long turn ends only when this job has returned to the loop, so the test
            // yields before it reads `longestTurn`.
            await loop.yield()
            await loop.yield()
            #expect(loop.longestTurn >= .milliseconds(50))
        }
        let turn = LongestTurn()
        let begin = ContinuousClock.now
        turn.record(from: begin, to: begin + .seconds(1))
        turn.record(from: begin + .seconds(59), to: begin + .seconds(59.5))
        #expect(turn.value(now: begin + .seconds(59.5)) == .seconds(1))
        turn.record(from: begin + .seconds(70), to: begin + .seconds(70.2))
        #expect(turn.value(now: begin + .seconds(71)) == .seconds(1))
        turn.record(from: begin + .seconds(140), to: begin + .seconds(140.1))
        #expect(turn.value(now: begin + .seconds(141)) == .seconds(0.2))
        #expect(turn.value(now: begin + .seconds(300)) == .zero)
    }

    @Test func aWaitEndsWhenBytesArrive() async throws {
        let received = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer {
                left.close()
                right.close()
            }
            var buffer = [UInt8](repeating: 0, count: 8)
            #expect(try buffer.withUnsafeMutableBytes { try left.read(into: $0) } == nil)
            let other = right.descriptor.number
            async let written = Glibc.write(other, "hello", 5)
            try await left.waitToRead(until: .now + .seconds(60))
            #expect(await written == 5)
            // The first wait may end without bytes, because the socket was already writable and
            // was never read before.
            while true {
                if let count = try buffer.withUnsafeMutableBytes({ try left.read(into: $0) }) {
                    return String(decoding: buffer[..<count], as: UTF8.self)
                }
                try await left.waitToRead(until: .now + .seconds(60))
            }
        }
        #expect(received == "hello")
    }

    @Test func anObjectWaitsAgainAndAgainWithoutATask() async throws {
        let events = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer { right.close() }
            let reader = ClosingReader(left)
            #expect(Glibc.write(right.descriptor.number, "a", 1) == 1)
            let number = right.descriptor.number
            LoopTimer(loop: loop) { #expect(Glibc.write(number, "b", 1) == 1) }.arm(at: .now + .milliseconds(1))
            await withUnsafeContinuation { reader.read(untilEnd: $0) }
            return reader.events
        }
        #expect(events == ["a", "b", "closed"])
    }

    @Test func aWaitEndsAtItsDeadline() async throws {
        let (error, waited) = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer {
                left.close()
                right.close()
            }
            let start = ContinuousClock.now
            do throws(WaitError) {
                try await left.waitToRead(until: start + .milliseconds(30))
                return (WaitError?.none, ContinuousClock.now - start)
            } catch {
                return (error, ContinuousClock.now - start)
            }
        }
        #expect(error == .timedOut)
        #expect(waited >= .milliseconds(30))
    }

    @Test func theEndOfTheStreamIsNotMissedWhenItComesTogetherWithBytes() async throws {
        let counts = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer { left.close() }
            #expect(Glibc.write(right.descriptor.number, "hello", 5) == 5)
            right.close()
            var counts: [Int] = []
            var buffer = [UInt8](repeating: 0, count: 8)
            while counts.last != 0 {
                try await left.waitToRead(until: .now + .seconds(60))
                if let count = try buffer.withUnsafeMutableBytes({ try left.read(into: $0) }) { counts.append(count) }
            }
            return counts
        }
        #expect(counts == [5, 0])
    }

    /// The kernel gives the number of a closed descriptor to the next descriptor that any thread
    /// opens.
    @Test func closedStreamDoesNotTouchAReusedDescriptor() async throws {
        try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            let number = left.descriptor.number
            left.close()
            defer { right.close() }
            let (reader, writer) = try socketPair(on: loop)
            defer {
                reader.close()
                writer.close()
            }
            // A parallel test may have got the number meanwhile. The expectations below are true
            // in that case, too.
            let isReused = [reader, writer].contains { $0.descriptor.number == number }
            var buffer = [UInt8](repeating: 0, count: 8)
            #expect(throws: StreamError.self) { try Array("x".utf8).withUnsafeBytes { try left.write($0) } }
            #expect(throws: StreamError.self) { try buffer.withUnsafeMutableBytes { try left.read(into: $0) } }
            left.endWriting()
            guard isReused else { return }
            #expect(try Array("y".utf8).withUnsafeBytes { try reader.write($0) } == 1)
            #expect(try buffer.withUnsafeMutableBytes { try writer.read(into: $0) } == 1)
            #expect(buffer[0] == UInt8(ascii: "y"))
        }
    }

    @Test func bytesThatComeAfterAnEmptyReadEndTheNextWait() async throws {
        let received = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer {
                left.close()
                right.close()
            }
            var (buffer, received) = ([UInt8](repeating: 0, count: 8), 0)
            for _ in 0..<3 {
                #expect(Glibc.write(right.descriptor.number, "hello", 5) == 5)
                while true {
                    if let count = try buffer.withUnsafeMutableBytes({ try left.read(into: $0) }) {
                        received += count
                        break
                    }
                    try await left.waitToRead(until: .now + .seconds(60))
                }
                #expect(try buffer.withUnsafeMutableBytes { try left.read(into: $0) } == nil)
            }
            return received
        }
        #expect(received == 15)
    }

    @Test func cancellingTheTaskEndsItsWaitsThePresentAndTheLater() async throws {
        let errors = try await withLoop { loop in
            let (left, right) = try socketPair(on: loop)
            defer {
                left.close()
                right.close()
            }
            return await withTaskGroup(of: [WaitError].self) { group in
                // This is safe, because the stream is used only on this event loop.
                nonisolated(unsafe) let stream = left
                group.addTask(executorPreference: loop) {
                    await stream.descriptor.cancellingWaits {
                        var errors: [WaitError] = []
                        for _ in 0..<2 {
                            do throws(WaitError) {
                                try await stream.waitToRead(until: .now + .seconds(60))
                            } catch {
                                errors.append(error)
                            }
                        }
                        return errors
                    }
                }
                await Task.yield()
                group.cancelAll()
                return await group.next() ?? []
            }
        }
        #expect(errors == [.cancelled, .cancelled])
    }

    @Test(arguments: [Duration.zero, .milliseconds(-100)])
    func timersFireInTheOrderOfTheirDeadlinesAlsoIfMovedAndIfAllAreLate(offset: Duration) async throws {
        let order = try await withLoop { loop in
            let (events, continuation) = AsyncStream.makeStream(of: String.self)
            let start = ContinuousClock.now + offset
            let timers = ["moved", "second", "first", "never"].map { name in
                LoopTimer(loop: loop) { continuation.yield(name) }
            }
            for timer in timers { timer.arm(at: start + .milliseconds(5)) }
            timers[0].arm(at: start + .milliseconds(40))
            timers[1].arm(at: start + .milliseconds(20))
            timers[3].disarm()
            var order: [String] = []
            for await event in events {
                order.append(event)
                if order.count == 3 { break }
            }
            return order
        }
        #expect(order == ["first", "second", "moved"])
    }

    @Test func aCallIsRunOrRefusedAlsoWhileItsLoopEnds() async throws {
        for _ in 0..<50 {
            let loop = try EventLoop(index: 0)
            async let answers = withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            if !loop.execute({ continuation.resume() }) { continuation.resume() }
                        }
                    }
                }
            }
            loop.stop()
            await answers
        }
    }

    @Test func closedDescriptorsDoNotLeaveTheirTimersBehind() async throws {
        let entries = try await withLoop { loop in
            for _ in 0..<500 {
                let (left, right) = try socketPair(on: loop)
                // This is safe, because the reader is used only on this event loop.
                nonisolated(unsafe) let reader = left
                await withTaskGroup(of: Void.self) { group in
                    // `reader.close()` ends this task.
                    group.addTask(executorPreference: loop) {
                        try? await reader.waitToRead(until: .now + .seconds(60))
                    }
                    await Task.yield()
                    reader.close()
                }
                right.close()
            }
            return loop.timerEntries
        }
        #expect(entries < 200)
    }

    /// When a timer's action is freed, the objects in it may cancel other timers. The queue of
    /// timers must not be locked at that moment.
    @Test func timersMayHoldTheOwnersOfOthers() async throws {
        final class Owner {
            let timer: LoopTimer
            init(_ timer: LoopTimer) { self.timer = timer }
            deinit { self.timer.abandon() }
        }
        let entries = try await withLoop { loop in
            for _ in 0..<200 {
                let owned = LoopTimer(loop: loop) {}
                owned.arm(at: .now + .seconds(3600))
                let owner = Owner(owned)
                let timer = LoopTimer(loop: loop) { _ = owner }
                timer.arm(at: .now + .seconds(3600))
                timer.abandon()
            }
            return loop.timerEntries
        }
        #expect(entries < 300)
    }

    @Test func aStoppedLoopIsFreedAlsoIfTimersArePending() async throws {
        weak var freed: EventLoop?
        do {
            let loop = try EventLoop(index: 0)
            freed = loop
            await withTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) {
                    LoopTimer(loop: loop) {}.arm(at: .now + .seconds(3600))
                }
            }
            #expect(freed != nil)
            loop.stop()
        }
        #expect(freed == nil)
    }

    @Test func yieldingTaskLetsReadyTasksRunFirst() async throws {
        let order = try await withLoop { loop in
            let events = Events()
            await withTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) {
                    for _ in 0..<3 {
                        await loop.yield()
                        events.append("yielded")
                    }
                }
                group.addTask(executorPreference: loop) {
                    LoopTimer(loop: loop) { events.append("timer") }.arm(at: .now)
                    for _ in 0..<2 {
                        await Task.yield()
                        events.append("ready")
                    }
                }
            }
            return events.all
        }
        #expect(order == ["ready", "yielded", "timer", "ready", "yielded", "yielded"])
    }

    @Test func aTimerDoesNotWaitForAllThatIsReady() async throws {
        let before = try await withLoop { loop in
            let events = Events()
            await withTaskGroup(of: Void.self) { group in
                LoopTimer(loop: loop) { events.append("timer") }.arm(at: .now)
                for _ in 0..<1000 { group.addTask(executorPreference: loop) { events.append("job") } }
            }
            return events.all.firstIndex(of: "timer")
        }
        #expect(try #require(before) <= 128)
    }

    @Test func aLoopEndsAlsoIfATaskYieldsForEver() async throws {
        let loop = try EventLoop(index: 0)
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                while loop.isCurrent { await loop.yield() }
                // Outside of the loop, `yield` returns at once, because it has no turn to wait
                // for.
                await loop.yield()
            }
            loop.stop()
        }
    }

    @Test func aDescriptorMayBeClosedAfterItsLoopHasEnded() async throws {
        let loop = try EventLoop(index: 0)
        // This is safe, because the loop is stopped before the test uses the array outside of it.
        nonisolated(unsafe) var kept: [SocketStream] = []
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) {
                // If there are no sockets, an expectation below fails.
                guard let (left, right) = try? socketPair(on: loop) else { return }
                kept = [left, right]
            }
        }
        loop.stop()
        #expect(kept.count == 2)
        for stream in kept { stream.close() }
        #expect(kept.allSatisfy { $0.descriptor.number == -1 })
    }

    @Test func aTaskThatOutlivesItsLoopStillEnds() async throws {
        let loop = try EventLoop(index: 0)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let result = await withTaskGroup(of: Int.self) { group in
            group.addTask(executorPreference: loop) {
                for await _ in gate {}
                return 7
            }
            loop.stop()
            open.finish()
            return await group.next()
        }
        #expect(result == 7)
    }
}

@Suite(.timeLimit(.minutes(5))) struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", SocketAddress.tcp(host: "127.0.0.1", port: 8080)),
        ("[::1]:0", .tcp(host: "::1", port: 0)),
        ("unix:/run/x.sock", .unix(path: "/run/x.sock")),
    ])
    func addressTextSurvivesARoundTrip(text: String, address: SocketAddress) {
        #expect(SocketAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", ":", "8080", "localhost:8080", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "unix:",
        "unix:/" + String(repeating: "x", count: 200), "256.0.0.1:80", "[zz]:1",
    ])
    func invalidAddressesAreRefused(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(arguments: [
        ("8080", "127.0.0.1:8080"), ("localhost:80", "127.0.0.1:80"), ("[::]:80", "[::]:80"), ("unix:a", "unix:a"),
        ("65536", nil), ("localhost", nil), ("localhost:x", nil), (":80", nil), ("example.com:80", nil), ("", nil),
    ])
    func aListenerMayBeGivenAsAPortOrAsLocalhost(text: String, address: String?) {
        #expect(SocketAddress.listening(at: text)?.description == address)
    }

    @Test func aSocketLeftBehindIsReplacedAndALiveOneIsNot() throws {
        let path = "/tmp/sealpost-\(UInt64.random(in: 0 ... .max)).sock"
        defer { unlink(path) }
        let address = SocketAddress.unix(path: path)
        _ = try Listener(address)
        let second = try Listener(address)
        #expect(throws: SystemError.self) { try Listener(address) }
        #expect(second.address == address)
    }

    /// The file may be the keyring or the configuration.
    @Test func aFileThatIsNoSocketIsNotReplaced() throws {
        let path = "/tmp/sealpost-\(UInt64.random(in: 0 ... .max)).txt"
        defer { unlink(path) }
        try "kept".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: SystemError.self) { try Listener(.unix(path: path)) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "kept")
    }
}

@Suite(.timeLimit(.minutes(5))) struct ListenerTests {
    @Test func stoppedListenerAcceptsWaitingClientsAndEnds() async throws {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        close(try ClientSocket.connect(to: listener.address))
        listener.stop()
        let accepted = try await withLoop { loop in
            var accepted = 0
            await listener.accept(on: loop) { descriptor in
                accepted += 1
                close(descriptor)
            }
            return accepted
        }
        #expect(accepted == 1)
    }

    @Test func stoppedListenerRefusesLaterClients() async throws {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        listener.stop()
        try await withLoop { loop in await listener.accept(on: loop) { close($0) } }
        let error = #expect(throws: SystemError.self) { try ClientSocket.connect(to: listener.address) }
        #expect(error?.code == ECONNREFUSED)
        // The listener must not use its old descriptor number, which may already belong to another
        // descriptor.
        try await withLoop { loop in await listener.accept(on: loop) { close($0) } }
    }

    @Test func aVanishedClientIsGivenUpInTime() async throws {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        listener.dropVanishedClients(after: .seconds(7))
        let time = try await withLoop { loop in
            var milliseconds: UInt32 = 0
            close(try ClientSocket.connect(to: listener.address))
            listener.stop()
            await listener.accept(on: loop) { socket in
                var length = socklen_t(MemoryLayout<UInt32>.size)
                getsockopt(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, &length)
                close(socket)
            }
            return milliseconds
        }
        #expect(time == 7000)
    }

    @Test func stoppingEndsAnAcceptThatWaits() async throws {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        try await withLoop { loop in
            await withTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) { await listener.accept(on: loop) { close($0) } }
                await Task.yield()
                listener.stop()
            }
        }
    }
}
