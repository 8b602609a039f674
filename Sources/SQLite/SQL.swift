/// A statement, or a part of a statement, with the values of its parameters.
///
/// An interpolated value becomes a parameter. An interpolated `SQL` becomes a part of the text.
package struct SQL: ExpressibleByStringInterpolation, Sendable {
    package private(set) var text: String
    package private(set) var arguments: [any Bindable]

    package init(sql text: String, arguments: [any Bindable] = []) {
        (self.text, self.arguments) = (text, arguments)
    }

    package init(stringLiteral text: String) {
        self.init(sql: text)
    }

    package init(stringInterpolation parts: StringInterpolation) {
        (self.text, self.arguments) = (parts.text, parts.arguments)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var arguments: [any Bindable] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.text.reserveCapacity(literalCapacity + interpolationCount)
            self.arguments.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            self.text += literal
        }

        package mutating func appendInterpolation(_ value: some Bindable) {
            self.text += "?"
            self.arguments.append(value)
        }

        package mutating func appendInterpolation<Value: Bindable>(_ value: Value?) {
            self.text += "?"
            self.arguments.append(value)
        }

        /// Adds a list of parameters in parentheses.
        package mutating func appendInterpolation(_ values: [some Bindable]) {
            self.text += "(" + values.map { _ in "?" }.joined(separator: ",") + ")"
            self.arguments += values
        }

        package mutating func appendInterpolation(_ part: SQL) {
            self.text += part.text
            self.arguments += part.arguments
        }

        /// Adds a text to the statement. This text must never come from outside the program.
        package mutating func appendInterpolation(sql text: some CustomStringConvertible) {
            self.text += text.description
        }
    }
}
