internal import ServiceLifecycle

/// Calls `turn` at once, and again after each delay that `turn` returns, until shutdown. A
/// shutdown also ends a delay.
package func repeatUntilShutdown(_ turn: @escaping @Sendable () async -> Duration) async {
    await repeatUntilShutdown(()) { _ in await turn() }
}

/// Calls `turn` until shutdown, with a state that each call can change for the next call.
package func repeatUntilShutdown<State: Sendable>(
    _ state: State,
    _ turn: @escaping @Sendable (inout State) async -> Duration
) async {
    await cancelWhenGracefulShutdown {
        var state = state
        while !Task.isCancelled {
            let delay = await turn(&state)
            // A shutdown ends the sleep early; then the loop's condition ends the loop.
            try? await Task.sleep(for: delay)
        }
    }
}
