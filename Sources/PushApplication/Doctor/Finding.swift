/// The result of one check of the doctor: one line for an operator or a monitoring program.
package struct Finding: Sendable, Hashable, CustomStringConvertible {
    package enum Grade: String, Sendable {
        case ok
        /// The subject works, but an operator must act before long.
        case warn
        /// The subject does not work, or will not work at the next start.
        case fail
    }

    package let grade: Grade
    /// The checked subject: a key of the configuration, or a word such as `clock`.
    package let subject: String
    package let text: String

    package init(_ grade: Grade, _ subject: String, _ text: String) {
        self.grade = grade
        self.subject = subject
        self.text = text
    }

    /// The line that is printed: the grade, padded to five columns, the subject and the text.
    package var description: String {
        let grade = self.grade.rawValue
        return grade + String(repeating: " ", count: 5 - grade.count) + self.subject + ": " + self.text
    }
}
