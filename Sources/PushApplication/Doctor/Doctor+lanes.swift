import PushAPI
import PushCore
import PushStore

/// The checks of what the running server knows, and of pushes that nobody sends.
extension Doctor {
    /// The lanes with pushes whose sender the configuration does not have any more.
    func lanesWithoutSender(_ tallies: [String: Tally]) -> [Finding] {
        let known = Set(self.configuration.senders.keys.map(\.description))
        return tallies.sorted { $0.key < $1.key }.compactMap { name, tally in
            let lane = Lane(stored: name)
            guard tally.pending > 0, !known.contains(lane.platform) else { return nil }
            let wait = tally.pending == 1 ? "1 push waits" : "\(tally.pending) pushes wait"
            return Finding(
                .warn,
                Platform(stored: lane.platform).configurationKey,
                "\(wait) in the lane \(name), which has no sender; configure the sender again, or they expire"
            )
        }
    }

    /// The state of the running server: its troubles and its paused lanes; empty if none runs.
    func server() async -> [Finding] {
        do {
            guard let administration = try await Administration(of: self.configuration) else { return [] }
            return self.findings(in: try await administration.ask("GET", Paths.status) ?? .null)
        } catch {
            return [Finding(.fail, "server", CommandProblem(error)?.detail ?? "\(error)")]
        }
    }

    func findings(in status: JSONValue) -> [Finding] {
        let troubles = status.array("Troubles").compactMap(\.text).map { Finding(.fail, "server", $0) }
        let lanes = status.array("Lanes").compactMap { self.pause(of: $0) }
        if !troubles.isEmpty || !lanes.isEmpty { return troubles + lanes }
        return [Finding(.ok, "server", "runs since \(status["StartedAt"]?.text ?? "?"), and no lane is paused")]
    }

    /// A pause that an operator must end fails; the others end by themselves.
    private func pause(of lane: JSONValue) -> Finding? {
        guard let name = lane["Name"]?.text, let pause = lane["Pause"], pause != .null else { return nil }
        func text(_ member: String) -> String { pause[member]?.text ?? "" }
        let needsOperator = Pause.Cause(rawValue: text("Cause"))?.needsOperator ?? false
        let words = text("Reason").isEmpty ? "" : ": \(text("Reason"))"
        return Finding(
            needsOperator ? .fail : .warn,
            Platform(stored: Lane(stored: name).platform).configurationKey,
            "the running server has paused the lane \(name) since \(text("Since")), \(text("Cause"))\(words)"
        )
    }
}

extension JSONValue {
    fileprivate func array(_ name: String) -> [JSONValue] {
        if case .array(let elements)? = self[name] { elements } else { [] }
    }
}
