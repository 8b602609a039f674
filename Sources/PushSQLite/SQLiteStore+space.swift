internal import PushStore
internal import SQLite

extension SQLiteStore {
    /// The time between two checks of the file.
    private static let checkInterval = Duration.seconds(10)
    /// The pause between two steps: clients have the writer for nine tenths of the time.
    private static let stepDelay = Duration.milliseconds(20)

    /// Returns the file's space that cleanup has freed to the file system, again and again until
    /// the task is cancelled. All other background work runs on the writer's queue.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await self.giveSpaceBack(pause: Self.stepDelay)
            } catch {
                // A full disk and a full queue pass; any other failure would happen again.
                guard error.isPassing else {
                    self.writer.events(.spaceNotGivenBack(reason: "\(error)"))
                    break
                }
            }
            // Cancellation ends the sleep early, and then the condition ends the loop.
            try? await Task.sleep(for: Self.checkInterval)
        }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    /// Shortens the file, if much of it is free, until a reserve is left; returns the number of
    /// bytes returned to the file system.
    @discardableResult
    func giveSpaceBack(pause: Duration) async throws(StoreError) -> Int {
        do {
            guard let before = try await self.writer.fileSpace(), before.isWorthShrinking else { return 0 }
            var now = before
            repeat {
                now = try await self.writer.shrink()
                // Cancellation ends the sleep early, and then the condition ends the loop.
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
