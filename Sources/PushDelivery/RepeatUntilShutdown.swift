internal import ServiceLifecycle

/// Calls `turn` at once, and again after each delay that it returns, until shutdown, which also
/// ends a delay.
package func repeatUntilShutdown(_ turn: @escaping @Sendable () async -> Duration) async {
    await repeatUntilShutdown(()) { _ in await turn() }
}

/// Calls `turn` until shutdown, with a state that each turn leaves to the next.
package func repeatUntilShutdown<State: Sendable>(
    _ state: State,
    _ turn: @escaping @Sendable (inout State) async -> Duration
) async {
    await cancelWhenGracefulShutdown {
        var state = state
        while !Task.isCancelled {
            let delay = await turn(&state)
            // Shutdown ends the sleep early, and the loop's condition sees it.
            try? await Task.sleep(for: delay)
        }
    }
}
