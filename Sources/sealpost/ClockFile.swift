import Foundation
import PushCore
import PushSQLite

/// The file with the last moment at which the clock was right, so that a restart does not believe a wrong clock.
struct ClockFile {
    private static let what = "the file of the clock"

    let path: String

    /// Throws `ConfigurationError` if the file cannot be read or is not valid.
    func load() throws -> HeldClock.Mark? {
        guard FileManager.default.fileExists(atPath: self.path) else { return nil }
        guard let mark = HeldClock.Mark(text: try PrivateFile.load(self.path, what: Self.what)) else {
            throw ConfigurationError(
                "\(Self.what) \(self.path) is not valid; the next start replaces it and believes the machine's clock"
            )
        }
        return mark
    }

    /// Replaces the file, also a damaged one. Throws `ConfigurationError`.
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
    /// The time and the uptime in milliseconds, and the machine's start.
    fileprivate var text: String {
        "\(Self.milliseconds(self.time.timeIntervalSince1970)) \(Self.milliseconds(self.uptime)) \(self.boot)\n"
    }

    fileprivate init?(text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard (2...3).contains(words.count), let time = Int64(words[0]), let uptime = Int64(words[1]) else {
            return nil
        }
        self.init(
            time: Date(timeIntervalSince1970: TimeInterval(time) / 1000),
            uptime: TimeInterval(uptime) / 1000,
            boot: words.count == 3 ? String(words[2]) : ""
        )
    }

    private static func milliseconds(_ seconds: TimeInterval) -> Int64 {
        Int64(exactly: (seconds * 1000).rounded()) ?? 0
    }
}

extension Configuration {
    /// The file in the folder of the database, or for PostgreSQL in that of the timeline.
    var clockFile: ClockFile {
        ClockFile(path: (self.storePlace is SQLiteDatabase ? self.database : self.timeline) + ".clock")
    }

    /// The clock, which continues from the file; without one if it is damaged, as `ClockService` and `doctor` report.
    func makeClock() -> HeldClock { HeldClock(after: try? self.clockFile.load()) }
}
