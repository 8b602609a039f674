import Foundation
import HTTPSignatures
import Logging
import PushCore
import PushDelivery
import PushServer
import PushStore

extension ApplicationParts {
    /// Reopens the log's file, and reloads certificates, the keyring, the signing keys and the
    /// senders' credentials.
    ///
    /// If a file cannot be read or is not valid, the function logs the error, and the server
    /// continues to use that file's old content.
    func reload() async {
        self.watchedFiles.recordRead()
        self.reopenLog()
        self.tls?.reload()
        await self.reloadKeyring()
        self.reloadSigningKeys()
        for (name, setup) in self.senders { self.reload(setup, name: name) }
        self.reloadEventWebhook()
        self.links.workIsWaiting()
    }

    /// Reloads the files that one reader uses. Errors are logged, as in `reload()`.
    func reload(_ reader: WatchedFiles.Reader) {
        switch reader {
        case .certificates: self.tls?.reload()
        case .sender(let name):
            for (_, setup) in self.senders.filter({ $0.name == name }) { self.reload(setup, name: name) }
        case .eventWebhook: self.reloadEventWebhook()
        }
        self.links.workIsWaiting()
    }

    /// Replaces the request quotas of all roles.
    func replaceQuotas(_ quotas: [Role: Quota]) {
        self.authenticator.replaceQuotas(quotas)
    }

    /// Reopens the log's file, which logrotate may have renamed.
    private func reopenLog() {
        guard let file = self.configuration.logFile else { return }
        do {
            try LogWriter.standardError.append(to: file)
            self.logger.info("log file reopened", metadata: ["file": "\(file)"])
        } catch {
            self.logger.error("log file reopen failed; the old file stays in use", metadata: ["error": "\(error)"])
        }
    }

    private func reloadKeyring() async {
        do {
            if try await self.replaceKeyring(for: .commandLine) { self.keyringHasChanged() }
        } catch {
            self.logger.error("keyring reload failed; the old keyring stays in use", metadata: ["error": "\(error)"])
        }
    }

    /// Reads the keyring for a command. If the old keyring stays in use, returns the reason.
    func reloadKeys(for actor: AuditRecord.Actor) async throws -> String? {
        do {
            _ = try await self.replaceKeyring(for: actor)
            return nil
        } catch let error as ConfigurationError {
            return error.description
        } catch let error as StoreError where error.isConfiguration {
            return error.description
        }
    }

    /// Replaces the keyring; returns whether the new keyring differs from the old one.
    private func replaceKeyring(for actor: AuditRecord.Actor) async throws -> Bool {
        let keyring = try KeyringFile(self.configuration.keyring).loadOrCreate(beside: self.configuration.storePlace)
        guard try await self.store.replaceKeyring(keyring, by: actor, now: self.clock.now()) else { return false }
        self.logger.info("keyring reloaded", metadata: ["seals": "\(self.store.vault.keyring.sealing)"])
        return true
    }

    private func reloadSigningKeys() {
        do {
            let new = try SigningKeyFile(self.configuration.signingKeys).load()
            guard new.keys.map(\.key.id) != self.signingKeys.current.keys.map(\.key.id) else { return }
            self.signingKeys.replace(with: new)
            self.logger.info("signing keys reloaded", metadata: ["signs": "\(new.keys[0].key.id)"])
        } catch {
            self.logger.error("signing key reload failed; the old keys stay in use", metadata: ["error": "\(error)"])
        }
    }

    private func reloadEventWebhook() {
        do {
            guard let eventWebhook, try eventWebhook.reload() else { return }
            self.eventStatus.reset()
            self.logger.info("credentials reloaded", metadata: ["sender": "events.webhook"])
        } catch {
            self.logger.error(
                "credential reload failed; the old credentials stay in use",
                metadata: ["sender": "events.webhook", "error": "\(error)"]
            )
        }
    }

    private func reload(_ setup: SenderSetup, name: Platform) {
        do {
            guard try setup.reload() else { return }
            // A provider's refusal of the old credentials says nothing about the new ones, so the
            // server ends the pauses of the sender's lanes (queues of pushes).
            for lane in setup.lanes { self.status.reset(lane.lane) }
            self.logger.info("credentials reloaded", metadata: ["sender": "\(name)"])
        } catch {
            self.logger.error(
                "credential reload failed; the old credentials stay in use",
                metadata: ["sender": "\(name)", "error": "\(error)"]
            )
        }
    }
}
