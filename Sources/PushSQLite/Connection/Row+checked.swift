internal import GRDB

/// In place of GRDB's own subscripts, which end the process when a column holds something else than is asked for: a
/// damaged row does, whatever the schema says. These throw `RowDecodingError`.
extension Row {
    subscript<Value: DatabaseValueConvertible>(_ column: String) -> Value {
        get throws { try self.decode(Value.self, forColumn: column) }
    }

    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ column: String) -> Value {
        get throws { try self.decode(Value.self, forColumn: column) }
    }

    subscript<Value: DatabaseValueConvertible>(_ index: Int) -> Value {
        get throws { try self.decode(Value.self, atIndex: index) }
    }

    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ index: Int) -> Value {
        get throws { try self.decode(Value.self, atIndex: index) }
    }
}
