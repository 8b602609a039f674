internal import Foundation
package import PushCore

extension Audience {
    /// Reads the columns of an audience: the decrypted expressions, and the platforms' names as
    /// JSON. Throws if one of them cannot be decoded.
    package init(expressions: [String], of app: AppName, platformNames: String?) throws {
        let platforms = try platformNames.map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
        self.init(
            try expressions.map { try TagExpression($0) },
            of: app,
            platforms: platforms.map { Set($0.map { Platform(stored: $0) }) }
        )
    }

    /// The platforms' names as JSON; `nil` for all platforms.
    package var platformNames: String? {
        get throws {
            try self.platforms.map {
                String(decoding: try JSONEncoder().encode($0.map(\.description).sorted()), as: UTF8.self)
            }
        }
    }
}
