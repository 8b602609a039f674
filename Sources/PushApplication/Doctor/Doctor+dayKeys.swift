import Foundation
import PushCore
import PushStore

extension Doctor {
    /// Checks that this machine has the day keys, and that all servers destroy their old day keys;
    /// `nil` if the store has no day keys.
    var dayKeys: Finding? {
        let file = DayKeyFile(self.configuration.dayKeys)
        do {
            // The check of the database reports a store that cannot be read.
            guard let report = try? self.configuration.storePlace.cluster?.dayKeys() else { return nil }
            let chain = try file.load()
            try report.check(chain, at: file.place)
            guard let chain else {
                return Finding(.warn, "day-keys", "\(file.place) does not exist; the first start creates it")
            }
            if let late = report.late(at: self.dataTime).first {
                return Finding(
                    .warn,
                    "day-keys",
                    """
                    \(late.place) still has the keys from \(late.day) on, and was not heard of since \
                    \(late.at.ISO8601Format()): start that server, or destroy the file
                    """
                )
            }
            guard report.isSealing else {
                return Finding(.warn, "day-keys", "encrypt nothing until servers of an older version have ended")
            }
            return Finding(.ok, "day-keys", "\(file.place) can be used, from \(chain.day) on")
        } catch {
            return Finding(.fail, "day-keys", "\(error)")
        }
    }
}
