import Foundation
import PushClient

extension FuzzTarget {
    /// The body of an event stream: however it is split into portions, its events equal those
    /// of the whole body, read line by line. The parser refuses it only for its lengths.
    static func events(_ bytes: [UInt8]) throws {
        let expected = EventStreamText(bytes)
        for portions in Portions.allCases {
            let outcome = EventOutcome(of: bytes, in: portions)
            try require(outcome.isTooLong == expected.isTooLong, "\(outcome), read in portions, is \(expected)")
            // Events before an excess length count if their portion had ended before it.
            try require(expected.events.starts(with: outcome.events), "\(outcome), read in portions, is \(expected)")
            guard !expected.isTooLong else { continue }
            try require(outcome.events == expected.events, "\(outcome), read in portions, is \(expected)")
            try require(outcome.retry == expected.retry, "\(outcome), read in portions, is \(expected)")
        }
    }

    /// Low limits, so that short inputs reach them.
    fileprivate static let maximumLine = 96
    fileprivate static let maximumData = 160
}

/// The result of a parser.
private struct EventOutcome {
    var events: [ServerEvent] = []
    var retry: Duration?
    var isTooLong = false

    init(of bytes: [UInt8], in portions: Portions) {
        var parser = EventParser(maximumLine: FuzzTarget.maximumLine, maximumData: FuzzTarget.maximumData)
        var start = 0
        do throws(EventParser.TooLong) {
            for end in portions.ends(of: bytes) {
                self.events += try parser.take(bytes[start..<end])
                start = end
            }
        } catch {
            self.isTooLong = true
        }
        self.retry = parser.retry
    }
}

/// The same result by the text of the standard (WHATWG HTML §9.2.6): first all lines, then one
/// after the other.
private struct EventStreamText {
    var events: [ServerEvent] = []
    var retry: Duration?
    var isTooLong = false
    private var values: [[UInt8]] = []
    private var last: String?

    init(_ bytes: [UInt8]) {
        var lines = Self.lines(bytes)
        let longest = lines.firstIndex { $0.count > FuzzTarget.maximumLine }
        // Bytes after the last line end are not a line yet.
        let whole = longest ?? lines.count - 1
        if let first = lines.first, first.starts(with: [0xEF, 0xBB, 0xBF]) { lines[0].removeFirst(3) }
        for line in lines[..<whole] {
            self.read(line)
            if self.isTooLong { return }
        }
        self.isTooLong = longest != nil
    }

    private static func lines(_ bytes: [UInt8]) -> [[UInt8]] {
        var (lines, index): ([[UInt8]], Int) = ([[]], 0)
        while index < bytes.count {
            switch bytes[index] {
            case 0x0D:
                lines.append([])
                if index + 1 < bytes.count, bytes[index + 1] == 0x0A { index += 1 }
            case 0x0A: lines.append([])
            case let byte: lines[lines.count - 1].append(byte)
            }
            index += 1
        }
        return lines
    }

    private mutating func read(_ line: [UInt8]) {
        guard !line.isEmpty else { return self.dispatch() }
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count == 2 ? Array(parts[1]) : []
        if value.first == 0x20 { value.removeFirst() }
        if parts[0].elementsEqual("data".utf8) {
            let count = Array(self.values.joined(separator: [0x0A])).count
            self.isTooLong = count + value.count >= FuzzTarget.maximumData
            self.values.append(value)
        } else if parts[0].elementsEqual("id".utf8) {
            self.last = Self.number(value).map { "\($0)" } ?? self.last
        } else if parts[0].elementsEqual("retry".utf8) {
            self.retry = Self.number(value).map { Duration.milliseconds(min(max($0, 1000), 60_000)) } ?? self.retry
        }
    }

    private mutating func dispatch() {
        defer { self.values = [] }
        guard let push = PushMessage(json: Data(self.values.joined(separator: [0x0A]))) else { return }
        self.events.append(ServerEvent(id: push.id, last: self.last))
    }

    private static func number(_ digits: [UInt8]) -> Int64? {
        guard !digits.isEmpty else { return nil }
        return digits.reduce(0 as Int64?) { number, digit in
            guard let number, (0x30...0x39).contains(digit) else { return nil }
            let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
            let (sum, isPast) = tens.addingReportingOverflow(Int64(digit) - 0x30)
            return isOver || isPast ? nil : sum
        }
    }
}
