import PushAPI
import PushCore
import PushStore

/// Checks of the running server's state, and of pushes whose sender is not configured.
extension Doctor {
    /// The findings about lanes (queues of pushes to one provider) in which pushes wait, although
    /// the configuration no longer has the sender of these lanes.
    func lanesWithoutSender(_ tallies: [String: Tally]) -> [Finding] {
        tallies.sorted { $0.key < $1.key }.compactMap { name, tally in
            self.isConfigured(Lane(stored: name)) ? nil : self.withoutSender(name, pending: tally.pending)
        }
    }

    private func isConfigured(_ lane: Lane) -> Bool {
        self.configuration.senders.keys.contains { $0.description == lane.platform }
    }

    /// The finding about a lane whose sender is missing; `nil` if no push waits in the lane.
    private func withoutSender(_ lane: String, pending: Int) -> Finding? {
        guard pending > 0 else { return nil }
        let wait = pending.counted("push waits", "pushes wait")
        return Finding(
            .warn,
            Platform(stored: Lane(stored: lane).platform).configurationKey,
            "\(wait) in the lane \(lane), which has no sender; configure the sender again, or they expire"
        )
    }

    /// The findings in the running server's report: its troubles and its paused lanes (queues of
    /// pushes to one provider). Empty if no server runs. A server whose admin socket was removed
    /// fails, since no command reaches it.
    func server() async -> [Finding] {
        do {
            guard let administration = try await Administration(of: self.configuration) else {
                guard let socket = self.configuration.adminSocket, socket.isHeld else { return [] }
                let text = "a server runs, but nothing listens at \(socket.path): restart it, as the file was removed"
                return [Finding(.fail, "server", text)]
            }
            return self.findings(in: try await administration.ask("GET", Paths.status) ?? .null)
        } catch {
            return [Finding(.fail, "server", CommandProblem(error)?.detail ?? "\(error)")]
        }
    }

    func findings(in status: JSONValue) -> [Finding] {
        let troubles = status.array("Troubles").compactMap(\.text).map { Finding(.fail, "server", $0) }
        let lanes = status.array("Lanes").compactMap { self.pause(of: $0) ?? self.lostSender(of: $0) }
        if !troubles.isEmpty || !lanes.isEmpty { return troubles + lanes }
        return [Finding(.ok, "server", "runs since \(status["StartedAt"]?.text ?? "?"), and no lane is paused")]
    }

    /// A warning for a lane (queue of pushes) whose host or environment the sender no longer
    /// serves. `lanesWithoutSender` reports the lanes whose whole sender is missing.
    private func lostSender(of lane: JSONValue) -> Finding? {
        guard let name = lane["Name"]?.text, lane["HasSender"] == .bool(false), self.isConfigured(Lane(stored: name))
        else { return nil }
        return self.withoutSender(name, pending: lane["Pending"]?.integer ?? 0)
    }

    /// The finding about a paused lane (queue of pushes): a failure if an operator must end the
    /// pause. Other pauses end by themselves.
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
