package import PushCore
internal import ServiceLifecycle

extension Signal {
    /// Runs `loop`, which waits for this signal. Sets the signal at graceful shutdown and at
    /// cancellation.
    package func signallingAtShutdown(_ loop: () async -> Void) async {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await loop()
            } onGracefulShutdown: {
                self.set()
            }
        } onCancel: {
            self.set()
        }
    }
}
