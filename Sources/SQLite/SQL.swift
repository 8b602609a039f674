/// A statement, or a part of a statement, with the values of its parameters.
///
/// An interpolated value becomes a parameter. An interpolated `SQL` becomes a part of the text.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    package private(set) var text: String
    package private(set) var arguments: [any Bindable]

    package init(sql text: String, arguments: [any Bindable] = []) {
        (self.text, self.arguments) = (text, arguments)
    }

    package init(stringLiteral text: String) { self.init(sql: text) }

    package init(stringInterpolation parts: StringInterpolation) { self = parts.sql }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL(sql: "")

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.sql.text.reserveCapacity(literalCapacity + interpolationCount)
            self.sql.arguments.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            self.sql.text += literal
        }

        package mutating func appendInterpolation(_ value: some Bindable) {
            self.sql.text += "?"
            self.sql.arguments.append(value)
        }

        package mutating func appendInterpolation<Value: Bindable>(_ value: Value?) {
            self.sql.text += "?"
            self.sql.arguments.append(value)
        }

        /// Adds a list of parameters in parentheses.
        package mutating func appendInterpolation(_ values: [some Bindable]) {
            self.sql.text += "(" + values.map { _ in "?" }.joined(separator: ",") + ")"
            self.sql.arguments += values
        }

        package mutating func appendInterpolation(_ part: SQL) {
            self.sql.text += part.text
            self.sql.arguments += part.arguments
        }

        /// Adds a text to the statement. This text must never come from outside the program.
        package mutating func appendInterpolation(sql text: some CustomStringConvertible) {
            self.sql.text += text.description
        }
    }
}
