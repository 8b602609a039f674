/// The reason why a text is not a rule for faults.
package struct FaultSyntaxError: Error, Hashable, CustomStringConvertible {
    /// One line that describes the error to the author of the rule.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension FaultRule {
    /// Reads `conditions: fault`, such as `every 10: status 503 retry-after 5`.
    ///
    /// Throws `FaultSyntaxError`, which names the wrong word.
    package init(_ text: String) throws(FaultSyntaxError) {
        // A space must follow the colon: the channel of a device contains colons as well.
        guard let colon = text.firstRange(of: ": ") else {
            throw FaultSyntaxError("\"\(text)\": a rule is conditions, a colon, a blank and a fault")
        }
        var conditions = FaultWords(text[..<colon.lowerBound])
        var fault = FaultWords(text[colon.upperBound...])
        self.init(try fault.readFault(), when: try conditions.readConditions())
        let namesDevice = self.conditions.contains { if case .device = $0 { true } else { false } }
        guard !self.fault.isOfConnection || !namesDevice else {
            throw FaultSyntaxError("\(self.fault.name): happens to connections, which belong to no device")
        }
    }
}

/// The words of a rule on one side of the colon. Each read removes words from the left.
private struct FaultWords {
    private var rest: Substring

    init(_ text: Substring) {
        self.rest = text
    }

    mutating func readConditions() throws(FaultSyntaxError) -> [FaultRule.Condition] {
        var conditions: [FaultRule.Condition] = []
        while let word = self.next() {
            switch word {
            case "always": guard conditions.isEmpty, self.isAtEnd else { throw self.mistake(word, "stands alone") }
            case "every": conditions.append(.every(try self.number(after: word, in: 1...1_000_000_000)))
            case "next": conditions.append(.next(try self.number(after: word, in: 1...1_000_000_000)))
            case "device": conditions.append(.device(try self.word(after: word)))
            case "chance":
                let chance = try self.chance(after: word)
                let seed = self.takes("seed") ? try self.number(after: "seed", in: 0...Int.max) : 1
                conditions.append(.chance(chance, seed: UInt64(seed)))
            case "from":
                let start = try self.duration(after: word)
                guard self.takes("to") else { throw self.mistake(word, "needs \"to\" and a time") }
                let end = try self.duration(after: "to")
                guard start < end else { throw self.mistake(word, "must be before \"to\"") }
                conditions.append(.between(start, end))
            default:
                throw self.mistake(word, "is no condition; known are always, every, next, chance, device, from")
            }
        }
        return conditions
    }

    mutating func readFault() throws(FaultSyntaxError) -> Fault {
        guard let word = self.next() else { throw FaultSyntaxError("the fault is missing") }
        let fault: Fault
        switch word {
        case "status": fault = try self.answer()
        case "goaway": fault = .goAway(reason: try self.reason())
        case "goaway-before": fault = .goAwayBefore(reason: try self.reason())
        case "slow": fault = .slow(try self.duration(after: word))
        default:
            guard let known = Self.plain.first(where: { $0.name == word }) else {
                let words = ["status", "goaway", "goaway-before", "slow"] + Self.plain.map(\.name)
                throw self.mistake(word, "is no fault; known are \(words.joined(separator: ", "))")
            }
            fault = known
        }
        if let rest = self.next() {
            let known = word == "status" ? "; known there are retry-after and body" : ""
            throw self.mistake(rest, "is unknown after \(word)\(known)")
        }
        return fault
    }

    /// The faults whose text is a single word.
    private static let plain: [Fault] = [
        .refuseStream, .noAnswer, .badJSON, .reset, .loseAnswer, .cut, .zeroWindow, .stopReading, .stopHandshake,
        .resetHandshake,
    ]

    private mutating func answer() throws(FaultSyntaxError) -> Fault {
        let status = try self.number(after: "status", in: 200...599)
        var retryAfter: Fault.RetryAfter?
        if self.takes("retry-after") {
            if self.takes("date") {
                retryAfter = .dateAfter(seconds: try self.number(after: "date", in: 0...1_000_000_000))
            } else {
                retryAfter = .seconds(try self.number(after: "retry-after", in: 0...1_000_000_000))
            }
        }
        guard self.takes("body") else { return .answer(status: status, retryAfter: retryAfter) }
        // The rest of the rule is the body of the answer, so this body may contain spaces.
        defer { self.rest = "" }
        return .answer(status: status, retryAfter: retryAfter, body: String(self.rest.drop { $0 == " " }))
    }

    private mutating func reason() throws(FaultSyntaxError) -> String? {
        self.takes("reason") ? try self.word(after: "reason") : nil
    }

    // MARK: - Words

    private var isAtEnd: Bool { self.rest.allSatisfy { $0 == " " } }

    private mutating func next() -> String? {
        self.rest = self.rest.drop { $0 == " " }
        guard !self.rest.isEmpty else { return nil }
        let word = self.rest.prefix { $0 != " " }
        self.rest = self.rest[word.endIndex...]
        return String(word)
    }

    /// If the next word is `word`, removes it and returns `true`.
    private mutating func takes(_ word: String) -> Bool {
        var ahead = self
        guard ahead.next() == word else { return false }
        self = ahead
        return true
    }

    private mutating func word(after keyword: String) throws(FaultSyntaxError) -> String {
        guard let word = self.next() else { throw self.mistake(keyword, "needs a word behind it") }
        return word
    }

    private mutating func number(after keyword: String, in range: ClosedRange<Int>) throws(FaultSyntaxError) -> Int {
        guard let number = self.next().flatMap(Int.init), range.contains(number) else {
            let bounds = range.upperBound == .max ? "" : " from \(range.lowerBound) to \(range.upperBound)"
            throw self.mistake(keyword, "needs a whole number\(bounds) behind it")
        }
        return number
    }

    /// Reads a probability, such as `0.25` or `25%`.
    private mutating func chance(after keyword: String) throws(FaultSyntaxError) -> Double {
        let word = self.next() ?? ""
        let number = word.hasSuffix("%") ? Double(word.dropLast()).map { $0 / 100 } : Double(word)
        guard let number, (0...1).contains(number) else {
            throw self.mistake(keyword, "needs a number from 0 to 1, or from 0% to 100%, behind it")
        }
        return number
    }

    /// Reads a duration, such as `250ms`, `5s`, `10m` or `6h`.
    private mutating func duration(after keyword: String) throws(FaultSyntaxError) -> Duration {
        let word = self.next() ?? ""
        let digits = word.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), number <= 1_000_000_000 else {
            throw self.mistake(keyword, "needs a time such as 250ms, 5s, 10m or 6h behind it")
        }
        switch word.dropFirst(digits.count) {
        case "ms": return .milliseconds(number)
        case "s": return .seconds(number)
        case "m": return .seconds(number * 60)
        case "h": return .seconds(number * 3600)
        default: throw self.mistake(keyword, "needs a time such as 250ms, 5s, 10m or 6h behind it")
        }
    }

    private func mistake(_ word: String, _ reason: String) -> FaultSyntaxError {
        FaultSyntaxError("\"\(word)\" \(reason)")
    }
}
