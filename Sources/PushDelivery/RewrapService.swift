package import Logging
package import PushCore
package import PushStore
internal import ServiceLifecycle

/// Encrypts values again with the keyring's first key if they are encrypted with an older key. A
/// pass over all values begins at the start of the server, daily, and whenever the keyring was
/// replaced.
package struct RewrapService: Sendable {
    /// The delay after a failed pass (`pause`), and the delay after a completed pass
    /// (`checkInterval`), unless the keyring is replaced meanwhile.
    private static let pause = Duration.seconds(30)
    private static let checkInterval = Duration.seconds(86_400)

    private let store: any KeyStore
    private let keyringHasChanged: WakeUp
    private let logger: Logger

    package init(store: any KeyStore, keyringHasChanged: WakeUp, logger: Logger) {
        self.store = store
        self.keyringHasChanged = keyringHasChanged
        self.logger = logger
    }

    /// Runs passes until shutdown. A shutdown interrupts a pass; the next start begins it again.
    package func run() async throws {
        let signal = self.keyringHasChanged.makeSignal()
        await cancelWhenGracefulShutdown {
            await signal.signallingAtShutdown {
                while !Task.isCancelled {
                    let isDone = await self.rewrap()
                    await signal.wait(atMost: isDone ? Self.checkInterval : Self.pause)
                }
            }
        }
    }

    private func rewrap() async -> Bool {
        do {
            guard let result = try await self.store.rewrap(page: nil, passed: { _ in }) else { return true }
            if result.unreadable > 0 {
                self.logger.error(
                    "values cannot be decrypted; their key stays in use",
                    metadata: ["values": "\(result.unreadable)"]
                )
            }
            let unused = result.unused.map { "\($0)" }.joined(separator: " ")
            self.logger.info(
                "re-encryption completed",
                metadata: ["values": "\(result.renewed)", "unused": "\(unused)"]
            )
            return true
        } catch is CancellationError {
            return true
        } catch {
            self.logger.report("re-encryption failed; it is retried", error)
            return false
        }
    }
}
