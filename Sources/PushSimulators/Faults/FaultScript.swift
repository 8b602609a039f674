internal import Foundation
internal import Synchronization

/// The active rules of a simulator. This object counts requests and connections, draws random
/// numbers, and chooses the fault of each request and connection.
final class FaultScript: Sendable {
    private struct State {
        var rules: [RunningRule] = []
        var setAt: Date
    }

    // A lock protects `state`: rules may be set from any thread. The lock is held only briefly.
    private let state: Mutex<State>
    private let now: @Sendable () -> Date

    init(_ rules: [FaultRule], now: @escaping @Sendable () -> Date) {
        self.state = Mutex(State(rules: rules.map(RunningRule.init), setAt: now()))
        self.now = now
    }

    /// Replaces all rules. The counts and times of the new rules start now.
    func set(_ rules: [FaultRule]) {
        self.state.withLock { $0 = State(rules: rules.map(RunningRule.init), setAt: self.now()) }
    }

    /// The fault of the next request for this device; the first rule that applies decides.
    func faultOfRequest(for device: () -> String) -> Fault? {
        self.first { $0.isOfConnection ? nil : device() }
    }

    /// The fault of the next connection.
    func faultOfConnection() -> Fault? {
        self.first { $0.isOfConnection ? "" : nil }
    }

    /// Returns the fault of the first rule that is due. `device` returns the device's name, or
    /// `nil` to skip the rule: a request skips faults of connections, and a connection skips
    /// faults of requests.
    private func first(_ device: (Fault) -> String?) -> Fault? {
        self.state.withLock { state in
            guard !state.rules.isEmpty else { return nil }
            let age = Duration.seconds(self.now().timeIntervalSince(state.setAt))
            for index in state.rules.indices {
                guard let device = device(state.rules[index].rule.fault) else { continue }
                if state.rules[index].isDue(for: device, age: age) { return state.rules[index].rule.fault }
            }
            return nil
        }
    }
}

/// A rule, with its counts of requests or connections.
private struct RunningRule {
    let rule: FaultRule
    /// The number of requests or connections that met the conditions on device and time.
    private var candidates = 0
    private var hits = 0
    private var random: SeededGenerator

    init(_ rule: FaultRule) {
        self.rule = rule
        var seed: UInt64 = 1
        for case .chance(_, let given) in rule.conditions { seed = given }
        self.random = SeededGenerator(seed: seed)
    }

    mutating func isDue(for device: String, age: Duration) -> Bool {
        for condition in self.rule.conditions {
            switch condition {
            case .device(let part): if !device.contains(part) { return false }
            case .between(let start, let end): if age < start || age >= end { return false }
            case .every, .chance, .next: continue
            }
        }
        self.candidates += 1
        for case .every(let number) in self.rule.conditions where !self.candidates.isMultiple(of: number) {
            return false
        }
        for case .chance(let probability, _) in self.rule.conditions {
            // A number is drawn for each candidate, so that the sequence of numbers depends on the
            // seed alone.
            if Double.random(in: 0..<1, using: &self.random) >= probability { return false }
        }
        for case .next(let number) in self.rule.conditions where self.hits >= number { return false }
        self.hits += 1
        return true
    }
}

/// The generator SplitMix64, which gives the same numbers for the same seed on every machine.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
