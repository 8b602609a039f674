internal import Foundation
internal import PushAPI

extension Outbox {
    /// How long a task may be retried: slightly less than the 24 hours for which the server stores
    /// the task's idempotency key.
    private static let keyLifetime: TimeInterval = 23 * 3600

    /// Sends all waiting tasks to the server, in order.
    ///
    /// If the network fails or changes answers, or the server is busy, the call throws as other
    /// calls do, and the remaining tasks wait. A task that the server refuses for good becomes a
    /// ``Failure``, and the call continues with the next tasks. So does a message that is too
    /// large for a proxy in front of the server: it also keeps waiting, because the server has not
    /// signed the refusal. If another process is sending the first task, the call leaves the other
    /// tasks to that process.
    public func flush() async throws {
        try await BackgroundTime.during("sends the user's actions") {
            try await CallDeadline.within(self.client.deadline) { try await self.run() }
        }
    }

    /// Sends the waiting tasks for a call that continues even if a task cannot be sent. Tasks keep
    /// waiting if the server cannot do them now, or if their files cannot be read or written.
    func flushIfPossible() async throws {
        do {
            try await self.run()
        } catch PushClientError.busy {
        } catch PushClientError.storage {
        }
    }

    private func run() async throws {
        try await self.client.api.checkOwner()
        var tooLarge: Set<UUID> = []
        // The loop has a limit, because other calls may add tasks all the time.
        for _ in 0..<2 * OutboxTask.maximumCount {
            let tasks = try await self.client.inbox.tasks().filter { !tooLarge.contains($0.key) }
            guard let first = tasks.first else { return }
            // One request carries out all consecutive `read` tasks.
            let run = first.kind == .read ? Array(tasks.prefix { $0.kind == .read }) : [first]
            do {
                try await self.perform(run)
            } catch PushClientError.busy(let problem, _) where problem.code == .idempotencyKeyInUse {
                return
            } catch PushClientError.problem(let problem) {
                try await self.client.inbox.fail(Set(run.map(\.key)), problem.code?.rawValue ?? problem.type)
            } catch PushClientError.interference(let found)
                where first.kind == .send && found.kind == .missingEcho && found.status == 413
            {
                // A proxy's refusal must not block the other tasks. Anybody can forge its answer,
                // so the task still waits.
                tooLarge.insert(first.key)
                try await self.client.inbox.fail([first.key], ProblemCode.payloadTooLarge.rawValue, isFinal: false)
            }
        }
    }

    // MARK: - Private

    private func perform(_ tasks: [OutboxTask]) async throws {
        guard let task = tasks.first else { return }
        switch task.kind {
        case .read: try await self.client.markRead(tasks.map(\.id))
        case .unread:
            do {
                try await self.client.markRead(task.id, false)
            } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
                try await self.client.inbox.remove([task.id])
            }
        case .dismiss: try await self.client.dismiss(task.id)
        case .send: return try await self.send(task)
        }
        try await self.client.inbox.finish(Set(tasks.map(\.key)))
    }

    private func send(_ task: OutboxTask) async throws {
        let now = self.client.now()
        // `abs`: if the clock was set back by more than `keyLifetime`, the task's age is unknown.
        if let tried = task.triedAt, abs(now.timeIntervalSince(tried)) > Self.keyLifetime {
            return try await self.client.inbox.fail([task.key], nil)
        }
        guard let payload = try await self.client.inbox.payload(of: task) else {
            // The payload's file is damaged, or another process has finished the task. In the
            // second case `fail` finds no task.
            return try await self.client.inbox.fail([task.key], nil)
        }
        try await self.client.inbox.tried(task.key, now: now)
        _ = try await self.client.send(payload, idempotencyKey: task.key)
        try await self.client.inbox.finish([task.key])
    }
}
