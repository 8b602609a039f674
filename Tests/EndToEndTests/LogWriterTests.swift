import Foundation
import Glibc
import Logging
import PushTesting
import Testing

@testable import PushApplication

/// Log lines, and file descriptors that do not always accept them.
@Suite(.timeLimit(.minutes(5))) struct LogWriterTests {
    private static func line(_ number: Int, level: Logger.Level = .info, size: Int = 0) -> LogLine {
        LogLine(
            time: Date(timeIntervalSince1970: 1_800_000_000),
            level: level,
            message: "line \(number)",
            fields: size == 0 ? [] : [(name: "pad", value: String(repeating: "x", count: size))]
        )
    }

    @Test func aFlushWritesAllLinesInOrder() throws {
        let pipe = try UnreadPipe()
        let writer = LogWriter(descriptor: pipe.endForEver())
        for number in 0..<1000 { writer.write(Self.line(number)) }
        writer.flush(within: .seconds(30))
        let text = String(decoding: pipe.readSome(), as: UTF8.self)
        let numbers = text.matches(of: /line (\d+)\n/).map { Int($0.output.1) }
        #expect(numbers == Array(0..<1000))
        #expect(writer.dropped == 0)
    }

    @Test func aNamedPipeIsOpenedOnlyIfSomebodyReadsIt() throws {
        let folder = try TemporaryFolder()
        let fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let writer = LogWriter(descriptor: try UnreadPipe().endForEver())
        let error = #expect(throws: ConfigurationError.self) { try writer.append(to: fifo) }
        let text = "log.file: \(fifo) cannot be opened: nobody reads this pipe; start its reader"
        #expect("\(try #require(error))" == text)
        let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        try writer.append(to: fifo)
        writer.write(Self.line(7))
        writer.flush(within: .seconds(30))
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(reader, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).contains("line 7"))
    }

    @Test func theLastQuarterOfTheQueueIsForWarningsAndErrors() {
        var queue = LogQueue()
        let kept = (0..<LogQueue.maximumLines).count { queue.add(Self.line($0)) }
        #expect(kept == LogQueue.maximumLines * 3 / 4)
        let errors = (0..<LogQueue.maximumLines).count { queue.add(Self.line($0, level: .error)) }
        #expect(errors == LogQueue.maximumLines / 4)
        let batch = queue.take()
        #expect(batch.lines.count == LogQueue.maximumLines)
        #expect(batch.dropped == LogQueue.maximumLines)
        #expect(queue.isEmpty)
        let isTaken = queue.add(Self.line(0))
        #expect(isTaken)
    }

    @Test func theQueueLimitsTheBytesOfLongLines() {
        var queue = LogQueue()
        let kept = (0..<100).count { queue.add(Self.line($0, level: .error, size: 100_000)) }
        #expect(kept == 10)
        let isTaken = queue.add(Self.line(0, level: .error, size: LogQueue.maximumBytes))
        #expect(!isTaken)
    }

    @Test func aStalledFlushTimesOutAndDroppedLinesAreReported() throws {
        let pipe = try UnreadPipe()
        pipe.fill()
        let writer = LogWriter(descriptor: pipe.endForEver())
        for number in 0..<10_000 { writer.write(Self.line(number)) }
        writer.flush(within: .milliseconds(50))
        var (numbers, told) = ([Int](), 0)
        _ = pipe.readLines { line in
            // If lines were dropped, another line reports their number.
            let isTold = line.contains(" log lines were dropped count=")
            guard let number = line.split(whereSeparator: { $0 == " " || $0 == "=" }).last.flatMap({ Int($0) }) else {
                return false
            }
            if isTold { told += number } else { numbers.append(number) }
            return numbers.count + told >= 10_000
        }
        #expect(numbers.count + told == 10_000)
        #expect(numbers == numbers.sorted())
        #expect(numbers.first == 0)
        #expect(writer.dropped == told)
        #expect(told > 0)
    }

    @Test func linesToAClosedPipeAreDroppedAndCounted() throws {
        let pipe = try UnreadPipe()
        pipe.closeReader()
        let writer = LogWriter(descriptor: pipe.endForEver())
        for number in 0..<10 { writer.write(Self.line(number)) }
        writer.flush(within: .seconds(30))
        #expect(writer.dropped == 10)
    }

    @Test func theWriterWaitsForANonBlockingDescriptor() throws {
        let pipe = try UnreadPipe()
        pipe.fill()
        _ = fcntl(pipe.end, F_SETFL, O_NONBLOCK)
        let writer = LogWriter(descriptor: pipe.endForEver())
        writer.write(Self.line(1))
        #expect(pipe.readLines { $0.hasSuffix("line 1") }.last?.hasSuffix("line 1") == true)
        #expect(writer.dropped == 0)
    }

    @Test func aLineThatIsCutOffDoesNotRunIntoTheNext() async throws {
        let (pipe, next) = (try UnreadPipe(), try UnreadPipe())
        async let cutOff = UnreadPipe.blocking {
            LogFile.ignoreBrokenPipes()
            var file = LogFile(descriptor: pipe.end)
            // The text is larger than the buffer of the pipe.
            let isWhole = file.write(String(repeating: "y", count: 1 << 20))
            return (file, isWhole)
        }
        // The write has begun. After the reader is closed, the remainder of the text cannot be
        // written.
        #expect(pipe.readSome().first == UInt8(ascii: "y"))
        pipe.closeReader()
        var (file, isWhole) = await cutOff
        #expect(!isWhole)
        // Simulates a disk that has free space again.
        dup2(next.end, pipe.end)
        isWhole = file.write("next")
        #expect(isWhole)
        #expect(String(decoding: next.readSome(), as: UTF8.self) == "\nnext\n")
    }
}
