internal import Foundation
internal import PushAPI

/// The parameters after the question mark of a request's target, percent-decoded; a plus sign
/// stands for a space.
struct Query {
    private let parameters: [(name: String, value: String)]

    /// Decodes a query. Throws an `invalid-parameter` problem if the query is not percent-encoded
    /// UTF-8.
    init(_ query: String?) throws(Problem) {
        var parameters: [(String, String)] = []
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parameters.append((try Self.decode(parts[0]), parts.count == 2 ? try Self.decode(parts[1]) : ""))
        }
        self.parameters = parameters
    }

    /// The names of all parameters, in the order of the query.
    var names: [String] { self.parameters.map(\.name) }

    /// The value of a parameter; throws an `invalid-parameter` problem if it appears twice.
    subscript(_ name: String) -> String? {
        get throws(Problem) {
            let values = self.parameters.filter { $0.name == name }.map(\.value)
            guard values.count <= 1 else { throw Problem(.invalidParameter, "\(name) appears more than once") }
            return values.first
        }
    }

    private static func decode(_ text: Substring) throws(Problem) -> String {
        guard let decoded = text.replacing("+", with: " ").removingPercentEncoding else {
            throw Problem(.invalidParameter, "the query is not percent-encoded UTF-8")
        }
        return decoded
    }
}
