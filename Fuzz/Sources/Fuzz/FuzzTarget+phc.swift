@testable import PushCore

extension FuzzTarget {
    /// A stored password hash: a hash that is read is written unchanged, and never costs more
    /// than permitted.
    static func phc(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let parameters = PasswordHash(phc: text).parameters
        guard let phc = PHCString(text) else {
            try require(parameters == nil, "\(text), which is none, has no parameters")
            return
        }
        try require(Array(phc.description.utf8) == bytes, "\(text) is written as it was read")
        try require(parameters == phc.parameters, "\(text) has its parameters")
        let read = PasswordParameters(
            memory: phc.parameters.memory,
            passes: phc.parameters.passes,
            lanes: phc.parameters.lanes
        )
        try require(read == phc.parameters, "\(phc.parameters) are within the bounds")
    }
}
