import PushAPI
import PushCore
import Testing

/// `hints.json`: the account hints of pushes. Accounts may share a device, and the hint shows
/// which of them a push belongs to.
enum HintVectors {
    private static let registrations = [
        "00000000000000000000000000000000", "9f86d081884c7d659a2feaa0c55ad015", "FEDCBA9876543210fedcba9876543210",
    ]

    static func file() throws -> JSONValue {
        let hints = try self.registrations.flatMap { registration in
            try [1, 4711, 2_147_483_647].map { id in try self.vector(registration, id) }
        }
        return .members(
            ("field", .string("accountHint")),
            ("hints", .array(hints)),
            ("none", .array([.string(#"{"secureId":"4711"}"#), .string(#"{"secureId":"4711","accountHint":7}"#)]))
        )
    }

    private static func vector(_ registration: String, _ id: Int64) throws -> JSONValue {
        let hint = AccountHint(
            try #require(NotificationID(rawValue: id)),
            of: try #require(RegistrationID(registration))
        ).description
        return .members(
            ("registration", .string(registration)),
            ("id", .number(Int(id))),
            ("accountHint", .string(hint)),
            ("push", .string(#"{"secureId":"\#(id)","accountHint":"\#(hint)"}"#)),
            ("raw", .string("secureId=\(id)&accountHint=\(hint)"))
        )
    }
}
