/// Functions that assign the value of a key to a Swift variable. If the key is missing or null,
/// the variable keeps its default value.
extension ConfigurationSection {
    func string(_ key: String, into value: inout String) throws {
        value = try self.string(key) ?? value
    }

    func nonEmptyString(_ key: String, into value: inout String) throws {
        value = try self.nonEmptyString(key) ?? value
    }

    func string(_ key: String, oneOf choices: [String], into value: inout String) throws {
        value = try self.string(key, oneOf: choices) ?? value
    }

    func strings(_ key: String, into value: inout [String]) throws {
        value = try self.strings(key) ?? value
    }

    func integer(_ key: String, in range: ClosedRange<Int>, into value: inout Int) throws {
        value = try self.integer(key, in: range) ?? value
    }

    func seconds(
        _ key: String,
        in range: ClosedRange<Int> = 1...31_536_000,
        into value: inout Duration
    ) throws {
        value = try self.wholeSeconds(key, in: range).map { .seconds($0) } ?? value
    }

    func bool(_ key: String, into value: inout Bool) throws {
        value = try self.bool(key) ?? value
    }
}
