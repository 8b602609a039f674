import Logging
import PushStore

extension Logger {
    /// What the store tells while it goes on: one line for each trouble.
    func log(_ event: StoreEvent) {
        switch event {
        case .diskFull: self.error("disk full, nothing is stored until there is room")
        case .roomAgain: self.info("disk has room again")
        case .notWiped(let reason): self.error("what was erased may stay in pages", metadata: ["reason": "\(reason)"])
        }
    }
}

extension Store {
    /// Why nothing can be stored, for those who ask whether the server is ready.
    var troubles: [String] {
        if let failure { return ["storage failed: \(failure)"] }
        return self.isFull ? ["the disk is full"] : []
    }
}
