internal import Foundation
package import PushCore

extension Audience {
    /// Reads the columns of an audience: expressions in clear, names of platforms as JSON. Throws
    /// if the expressions or the names do not decode.
    package init(expressions: [String], of app: AppName, platformNames: String?) throws {
        let platforms = try platformNames.map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
        self.init(
            try expressions.map { try TagExpression($0) },
            of: app,
            platforms: platforms.map { Set($0.map { Platform(stored: $0) }) }
        )
    }

    /// The names of the platforms as JSON; `nil`: all.
    package var platformNames: String? {
        get throws {
            try self.platforms.map {
                String(decoding: try JSONEncoder().encode($0.map(\.description).sorted()), as: UTF8.self)
            }
        }
    }
}
