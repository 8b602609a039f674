import Foundation
package import PushCore
import PushSQLite

/// The file that contains the last moment at which the clock was right. With this moment, the
/// server recognises a wrong clock after a restart.
struct ClockFile {
    private static let what = "the file of the clock"

    let path: String

    /// Throws `ConfigurationError` if the file cannot be read or is not valid.
    func load() throws -> HeldClock.Mark? {
        if PrivateFile.isMissing(self.path) { return nil }
        // A check of the file's mode would gain nothing: anybody who may write to its folder could
        // replace the file.
        guard let mark = HeldClock.Mark(text: try PrivateFile.read(self.path, what: Self.what).text) else {
            throw ConfigurationError(
                "\(Self.what) \(self.path) is not valid; the next start replaces it and accepts the machine's clock"
            )
        }
        return mark
    }

    /// Replaces the file, even if it is damaged. Throws `ConfigurationError`.
    func save(_ mark: HeldClock.Mark) throws {
        do {
            _ = try PrivateFile.load(self.path, what: Self.what) { mark.text }
            try PrivateFile.change(self.path, what: Self.what) { _ in (mark.text, ()) }
        } catch {
            guard unlink(self.path) == 0 else { throw error }
            _ = try PrivateFile.load(self.path, what: Self.what) { mark.text }
        }
    }
}

extension HeldClock.Mark {
    /// The text of the file: times in milliseconds, and then the identifier of the machine's
    /// start.
    fileprivate var text: String {
        [self.time.timeIntervalSince1970, self.uptime, self.step, self.rise, self.next]
            .map { "\(Self.milliseconds($0)) " }.joined() + self.boot + "\n"
    }

    fileprivate init?(text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        let seconds = words.prefix(5).compactMap { Int64($0) }.filter(Self.plausible.contains)
            .map { TimeInterval($0) / 1000 }
        guard seconds.count == 5, words.count <= 6, seconds[1] >= 0,
            seconds[2...3].allSatisfy({ abs($0) <= HeldClock.longestAbsence })
        else { return nil }
        self.init(
            time: Date(timeIntervalSince1970: seconds[0]),
            uptime: seconds[1],
            step: seconds[2],
            rise: seconds[3],
            next: seconds[4],
            boot: words.count == 6 ? String(words[5]) : ""
        )
    }

    /// The plausible times, in milliseconds since 1970: up to the end of the year 9999, and as far
    /// back before 1970.
    private static let plausible: Range<Int64> = -253_402_300_800_000..<253_402_300_800_000

    private static func milliseconds(_ seconds: TimeInterval) -> Int64 {
        Int64(exactly: (seconds * 1000).rounded()) ?? 0
    }
}

extension Configuration {
    /// The clock's file is next to the SQLite database or, with PostgreSQL, next to the file of
    /// the timeline.
    var clockFile: ClockFile {
        ClockFile(path: (self.storePlace is SQLiteDatabase ? self.database : self.timeline) + ".clock")
    }

    /// Makes a clock that continues from the clock's file. If the file is damaged, the clock
    /// starts without it, and `ClockService` and `doctor` report the file.
    package func makeClock() -> HeldClock { HeldClock(after: try? self.clockFile.load()) }
}
