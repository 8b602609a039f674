import Foundation
import PushAPI
import PushCore
import PushStore

@testable import PushServer

extension FuzzTarget {
    private static let settings = ServerSettings {
        $0.platforms = [
            Platform("apns"): .init(HandleLength(lengths: 8...8)),
            Platform("fcm"): .init(HandleLength(lengths: 1...4096)),
        ]
    }

    /// A body: a value that is written is read as the same one, and nests no deeper than
    /// promised. Orders and registrations that are made from it end in a value or in a problem.
    static func json(_ bytes: [UInt8]) throws {
        // Any text that is not JSON is refused; this target does not check the reason.
        guard let value = try? JSONValue(reading: bytes) else { return }
        try require(value.levels <= 64, "\(value.levels) levels are no more than 64")
        let written = value.bytes
        let again = try JSONValue(reading: written)
        try require(again == value && again.bytes == written, "\(value) is read as it is written")
        _ = NotificationItem(value)?.json
        try Self.decode(bytes)
    }

    private static func decode(_ bytes: [UInt8]) throws {
        guard let name = Username("alice"), let confirmation = NotificationID(rawValue: 7) else {
            preconditionFailure("alice is a name, and 7 an id")
        }
        let caller = User(id: 1, name: name, role: .device, passwordNumber: 1, isDisabled: false)
        try Self.allowProblems {
            _ = try DeviceRegistration(
                JSONBody(bytes),
                id: .random(),
                of: caller,
                settings: Self.settings,
                confirmation: confirmation
            )
        }
        try Self.allowProblems {
            let order = try NotificationOrder(
                JSONBody(bytes),
                caller: caller,
                settings: Self.settings,
                now: .distantPast
            )
            _ = order.isOnly(for: name)
        }
    }

    /// The server would answer any other error with 500.
    private static func allowProblems(_ decode: () throws -> Void) throws {
        do {
            try decode()
        } catch is Problem {
            // The client gets the problem.
        }
    }
}

private struct HandleLength: HandleRule {
    let lengths: ClosedRange<Int>
    let isGuessable = true

    func address(_ handle: String) throws(HandleFlaw) -> String {
        guard self.lengths.contains(handle.utf8.count) else { throw .malformed("it has another length") }
        return handle
    }
}

extension JSONValue {
    fileprivate var levels: Int {
        switch self {
        case .array(let elements): 1 + (elements.map(\.levels).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.levels).max() ?? 0)
        default: 0
        }
    }
}
