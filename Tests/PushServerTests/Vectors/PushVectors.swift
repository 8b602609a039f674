import PushAPI
import PushCore
import Testing

/// `pushes.json`: the contents of pushes with the id of the notification that each names, and
/// contents that are no pushes of this server.
enum PushVectors {
    /// The greatest id is 2^53 − 1. JavaScript's numbers are doubles, and represent all integers
    /// up to this id exactly.
    private static let ids: [Int64] = [
        1, 9, 4711, 2_147_483_647, 2_147_483_648, 999_999_999_999_999, 9_007_199_254_740_991,
    ]

    private static let none = [
        "", "7", "null", "[]", "{}", #""4711""#, #"["secureId","4711"]"#, #"{"secureId":null}"#, #"{"secureId":4711}"#,
        #"{"secureId":true}"#, #"{"secureId":["4711"]}"#, #"{"secureId":""}"#, #"{"secureId":"-4711"}"#,
        #"{"secureId":"+4711"}"#, #"{"secureId":" 4711"}"#, #"{"secureId":"4711 "}"#, #"{"secureId":"4711\n"}"#,
        #"{"secureId":"4711.0"}"#, #"{"secureId":"4e3"}"#, #"{"secureId":"0x10"}"#, #"{"secureId":"4_711"}"#,
        #"{"secureId":"\u0664\u0667"}"#, #"{"secureId":"1/../2"}"#, #"{"secureId":"9223372036854775808"}"#,
        #"{"secureId":"99999999999999999999"}"#, #"{"id":"4711"}"#, #"{"secureId":"4711""#,
    ]

    static func file() throws -> JSONValue {
        let pushes = try self.ids.map { number in
            let id = try #require(NotificationID(rawValue: number))
            return JSONValue.members(
                ("id", .number(number)),
                ("push", .string(#"{"secureId":"\#(id)"}"#)),
                ("amongOthers", .string(#"{"title":"x","secureId":"\#(id)","badge":"3"}"#))
            )
        }
        return .members(("pushes", .array(pushes)), ("none", .array(self.none.map { .string($0) })))
    }
}
