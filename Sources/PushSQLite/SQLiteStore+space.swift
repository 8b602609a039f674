internal import GRDB
internal import PushStore

extension SQLiteStore {
    /// The pause between two looks at the file.
    private static let lookAfter = Duration.seconds(10)
    /// The pause between two steps: clients have the writer for nine tenths of the time.
    private static let breath = Duration.milliseconds(20)

    /// Gives room of the file back that retention has made, until the task is cancelled; all other work of the store's own is on
    /// the writer's queue.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await self.giveSpaceBack(pause: Self.breath)
            } catch {
                // A full disk and a full queue pass; what else fails would fail again.
                guard error.isPassing else {
                    self.writer.events(.spaceNotGivenBack(reason: "\(error)"))
                    break
                }
            }
            // Ended early by the task's end, which the condition sees.
            try? await Task.sleep(for: Self.lookAfter)
        }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    /// Shortens the file, if much of it is free, until a reserve is left; returns the bytes that were given back.
    @discardableResult
    func giveSpaceBack(pause: Duration) async throws(StoreError) -> Int {
        do {
            guard let before = try await self.writer.fileSpace(), before.isWorthShrinking else { return 0 }
            var now = before
            repeat {
                now = try await self.writer.shrink()
                // Ended early by the task's end, which the condition sees.
                try? await Task.sleep(for: pause)
            } while now.hasExcess && !Task.isCancelled
            let bytes = (before.pages - now.pages) * Writer.pageSize
            if bytes > 0 { self.writer.events(.spaceGivenBack(bytes: bytes)) }
            return max(0, bytes)
        } catch {
            throw StoreError(reading: error) ?? .failed(reason: "\(error)")
        }
    }
}

extension StoreError {
    fileprivate var isPassing: Bool {
        switch self {
        case .full, .busy: true
        default: false
        }
    }
}
