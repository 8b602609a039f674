import Foundation
import HTTPSignatures
import PushAPI

/// `digests.json`: contents with their `Content-Digest`. For one content, it also has further
/// values of this field, some of which do not match.
enum DigestVectors {
    static func file() -> JSONValue {
        let bodies: [(String, [UInt8])] = [
            ("empty", []), ("text", Array(#"{"Id":7,"Payload":"secret"}"#.utf8)),
            ("beyond ASCII", Array("„Grüße“ 🔒".utf8)), ("every byte", Array(0...255)),
            ("a megabyte of zeros", Array(repeating: 0, count: 1 << 20)),
        ]
        let digests = bodies.map { name, body in
            var members: [VectorMember] = [("name", .string(name))]
            if body.count < 1000 {
                members.append(("bodyBase64", .string(Data(body).base64EncodedString())))
            } else {
                members.append(("zeros", .number(body.count)))
            }
            members.append(("field", .string(ContentDigest.field(of: body))))
            return JSONValue.object(members.map { .init($0.0, $0.1) })
        }
        return .members(("contents", .array(digests)), ("comparisons", self.comparisons()))
    }

    /// Returns values of `Content-Digest`, and whether each of them matches the content `secret`.
    private static func comparisons() -> JSONValue {
        let body = Array("secret".utf8)
        let right = ContentDigest.field(of: body)
        let hash = right.dropFirst("sha-256=".count)
        let other = ContentDigest.field(of: Array("Secret".utf8))
        let fields: [(String, String)] = [
            ("the content's", right), ("another content's", other), ("nothing", ""),
            ("beside another algorithm", "md5=:Xr4ilOzQ4PCOq3aQ0qbuaQ==:, \(right)"),
            ("with parameters", "\(right);a=1"), ("with blanks", "  \(right)  "),
            ("another algorithm alone", "sha-512\(hash.prefix(1))\(hash.dropFirst())"),
            ("twice", "\(right), \(right)"), ("twice, and different", "\(other), \(right)"),
            ("in capitals", right.uppercased()), ("without colons", right.replacing(":", with: "")),
            ("too short", "sha-256=:\(Data(repeating: 0, count: 31).base64EncodedString()):"),
            ("a string in place of bytes", "sha-256=\"\(hash.dropFirst(1).dropLast())\""),
        ]
        return .members(
            ("body", .string("secret")),
            (
                "fields",
                .array(
                    fields.map { name, field in
                        .members(
                            ("name", .string(name)),
                            ("field", .string(field)),
                            ("matches", .bool(ContentDigest.matches(field: field, body: body)))
                        )
                    }
                )
            )
        )
    }
}
