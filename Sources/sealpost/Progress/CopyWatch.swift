import PushApplication
import PushSQLite

/// Watches the copying of a database and the verification of the copy, and shows their progress as
/// a bar.
struct CopyWatch {
    private let bar = ProgressBar()

    /// Runs `copy`, which reports the beginning of each step. Throws the errors of `copy`.
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
