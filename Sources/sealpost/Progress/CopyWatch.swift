import PushApplication
import PushSQLite

/// Watches how a database is copied and the copy is read again, for a bar.
struct CopyWatch {
    private let bar = ProgressBar()

    /// Runs `copy`, which tells each step that it begins. Throws what it throws.
    func run<Value>(_ copy: ((CopyStep) -> Void) throws -> Value) async throws -> Value {
        let samples = CopySamples()
        return try await self.bar.whileSampling({ samples.current?.done }) {
            try copy { step in
                samples.begin(step)
                self.bar.begin(step.title, total: step.bytes, unit: .bytes)
            }
        }
    }
}
