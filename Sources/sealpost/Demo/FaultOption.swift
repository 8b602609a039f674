import PushSimulators

/// What `--fault` takes: a rule, before which a provider may be named.
struct FaultOption {
    /// Where the rule holds: a simulator's name, or with `-tokens` its token endpoint; `nil` for the pushes of all.
    let place: String?
    let rule: FaultRule

    private static let places = Providers.allNames + ["fcm-tokens", "wns-tokens"]

    /// Throws `FaultSyntaxError`.
    init(_ text: String) throws {
        let word = text.prefix { $0 != " " }
        self.place = Self.places.first { $0 == word }
        self.rule = try FaultRule(self.place == nil ? text : String(text.dropFirst(word.count + 1)))
    }
}

extension [FaultOption] {
    /// The rules for one place; what is meant for all is for pushes only.
    func rules(for place: String) -> [FaultRule] {
        self.filter { $0.place == place || $0.place == nil && !place.hasSuffix("-tokens") }.map(\.rule)
    }
}
