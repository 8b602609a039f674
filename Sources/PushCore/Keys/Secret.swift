/// A value that prints as `<secret>`, so that it cannot reach a log or an error by accident.
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package let exposed: Value

    package init(_ value: Value) {
        self.exposed = value
    }

    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
