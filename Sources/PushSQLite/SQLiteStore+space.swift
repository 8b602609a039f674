internal import PushStore
internal import SQLite

extension SQLiteStore {
    /// The interval between two checks whether the file can be shortened.
    private static let checkInterval = Duration.seconds(10)
    /// The pause between two steps. Nine tenths of the time, the writer is free for clients.
    private static let stepDelay = Duration.milliseconds(20)

    /// At intervals, returns to the file system the space that cleanup has freed. Does so until
    /// the task is cancelled. All other background work runs on the writer's queue.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await self.giveSpaceBack(pause: Self.stepDelay)
            } catch {
                // A full disk, a full queue and a foreign lock are temporary. Any other failure
                // would happen again, so the checks end.
                guard error.isPassing else {
                    self.writer.events(.spaceNotGivenBack(reason: "\(error)"))
                    break
                }
            }
            // If the task is cancelled, this sleep ends early, and the loop's condition then ends
            // the loop.
            try? await Task.sleep(for: Self.checkInterval)
        }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    /// If much of the file is free, shortens it until only a reserve of free pages remains.
    /// Returns the number of bytes that the file system has got back.
    @discardableResult
    func giveSpaceBack(pause: Duration) async throws(StoreError) -> Int {
        do {
            guard let before = try await self.writer.fileSpace(), before.isWorthShrinking else { return 0 }
            var now = before
            repeat {
                now = try await self.writer.shrink()
                // If the task is cancelled, this sleep ends early, and the loop's condition then
                // ends the loop.
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
        case .full, .busy, .unavailable: true
        default: false
        }
    }
}
