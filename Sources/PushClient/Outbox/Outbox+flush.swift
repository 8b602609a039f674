internal import Foundation
internal import PushAPI

extension Outbox {
    /// The server remembers a key for 24 hours.
    private static let remembered: TimeInterval = 23 * 3600

    /// Tells the server all that waits, in its order.
    ///
    /// Throws as other calls do when the network fails or interferes, or the server is busy: what
    /// is left waits on. What the server refuses for good is a ``Failure``, and does not hold up
    /// what is behind it. Where another process is sending the first task, this one leaves the
    /// rest to it.
    public func flush() async throws {
        try await CallDeadline.within(self.client.deadline) { try await self.run() }
    }

    /// The same for a call that goes on: what the server cannot do now waits, and what cannot be
    /// read or written in files.
    func flushIfPossible() async throws {
        do {
            try await self.run()
        } catch PushClientError.busy {
        } catch PushClientError.problem {
        } catch let error where error is PushClientError || error is CancellationError || error.leavesWhatIsKept {
            throw error
        } catch {}
    }

    private func run() async throws {
        // Others may add to it all the time.
        for _ in 0..<2 * OutboxTask.maximumCount {
            let tasks = try await self.client.inbox.tasks()
            guard let first = tasks.first else { return }
            // Those that are marked as read one after the other are so in one request.
            let run = first.kind == .read ? Array(tasks.prefix { $0.kind == .read }) : [first]
            do {
                try await self.perform(run)
            } catch PushClientError.problem(let problem) where problem.code == .idempotencyKeyInUse {
                return
            } catch PushClientError.problem(let problem) where problem.isFinal {
                try await self.client.inbox.fail(Set(run.map(\.key)), problem.code?.rawValue ?? problem.type)
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
        // A clock that was set back does not make it younger.
        if let tried = task.triedAt, abs(now.timeIntervalSince(tried)) > Self.remembered {
            return try await self.client.inbox.fail([task.key], nil)
        }
        guard let payload = try await self.client.inbox.payload(of: task) else {
            // Of a task that another process has finished there is none to fail.
            return try await self.client.inbox.fail([task.key], nil)
        }
        try await self.client.inbox.tried(task.key, now: now)
        _ = try await self.client.send(payload, idempotencyKey: task.key)
        try await self.client.inbox.finish([task.key])
    }
}

extension Problem {
    /// Whether the server will never take it.
    fileprivate var isFinal: Bool { (400..<500).contains(self.status) && self.status != 408 }
}
