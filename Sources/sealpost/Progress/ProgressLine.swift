/// The progress of long work, as one line of a terminal: a bar, the share, the rate and the time
/// left.
struct ProgressLine: Hashable {
    enum Unit: Sendable {
        case bytes
        case rows
        case pushes
    }

    let title: String
    let unit: Unit
    /// The total number of units. It is an estimate: the final total may be larger.
    var total: Int
    var done = 0
    var elapsed = Duration.zero

    /// The line, which is shorter than `columns`; a narrow terminal gets no bar.
    func text(columns: Int) -> String {
        let share = self.total > 0 ? min(1, Double(max(0, self.done)) / Double(self.total)) : 0
        let percent = Int(share * 100)
        let words = [Self.padded("\(percent)", to: 3) + " %", self.rateText, self.timeText].compactMap(\.self)
        let tail = words.joined(separator: "  ")
        let width = min(40, columns - self.title.count - tail.count - 6)
        guard width >= 8 else { return String("\(self.title) \(tail)".prefix(max(0, columns - 1))) }
        let filled = Int(share * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        return "\(self.title) [\(bar)] \(tail)"
    }

    // MARK: - Private

    /// The number of units per second since the beginning; `nil` in the first half second, when
    /// the rate would not be meaningful.
    private var rate: Double? {
        guard self.elapsed >= .milliseconds(500), self.done > 0 else { return nil }
        return Double(self.done) / (self.elapsed / .seconds(1))
    }

    private var rateText: String? {
        guard let rate else { return nil }
        switch self.unit {
        case .rows: return "\(Int(min(rate, 1e15))) rows/s"
        case .pushes: return "\(Int(min(rate, 1e15))) pushes/s"
        case .bytes:
            let units = ["B", "KiB", "MiB", "GiB", "TiB"]
            var (value, index) = (rate, 0)
            while value >= 1024, index < units.count - 1 { (value, index) = (value / 1024, index + 1) }
            return "\(Int(min(value, 1e15))) \(units[index])/s"
        }
    }

    private var timeText: String? {
        guard let rate, self.done < self.total else { return nil }
        // The time is rounded up, since work that remains never takes 0 seconds.
        let seconds = Int(min((Double(self.total - self.done) / rate).rounded(.up), 360_000_000))
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        let end = Self.padded("\(seconds % 60)", to: 2, with: "0")
        if hours == 0 { return "\(minutes):\(end) left" }
        return "\(hours):\(Self.padded("\(minutes)", to: 2, with: "0")):\(end) left"
    }

    private static func padded(_ text: String, to length: Int, with filler: String = " ") -> String {
        String(repeating: filler, count: max(0, length - text.count)) + text
    }
}
