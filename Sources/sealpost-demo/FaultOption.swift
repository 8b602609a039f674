import PushSimulators

/// The value of `--fault`: a rule, optionally preceded by an endpoint.
struct FaultOption {
    /// The target of the rule: the name of a simulator, or the name with `-tokens` for the
    /// simulator's token endpoint. `nil` means the pushes to all simulators.
    let place: String?
    let rule: FaultRule

    private static let places = Providers.allNames + ["fcm-tokens", "wns-tokens"]

    /// Throws `FaultSyntaxError` if the rule is malformed.
    init(_ text: String) throws {
        let word = text.prefix { $0 != " " }
        self.place = Self.places.first { $0 == word }
        self.rule = try FaultRule(self.place == nil ? text : String(text.dropFirst(word.count + 1)))
    }
}

extension [FaultOption] {
    /// The rules for one target; rules without a target apply to pushes only.
    func rules(for place: String) -> [FaultRule] {
        self.filter { $0.place == place || $0.place == nil && !place.hasSuffix("-tokens") }.map(\.rule)
    }
}
