extension Int {
    private static let secondsOfUnits: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    /// The number of seconds in a duration as operators write it: a number of seconds, or a number
    /// with the unit `s`, `m`, `h` or `d`, such as `90m`.
    ///
    /// `nil` for any other text, and for more seconds than an `Int` can hold.
    package init?(secondsOf duration: String) {
        let unit = duration.last.flatMap { Self.secondsOfUnits[$0] }
        guard let count = Int(duration.dropLast(unit == nil ? 0 : 1)) else { return nil }
        let (seconds, isTooLong) = count.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLong else { return nil }
        self = seconds
    }
}
