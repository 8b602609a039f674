internal import GRDB

/// Replaces GRDB's own subscripts, which end the process when a column has a value of another type
/// than requested. A damaged row may have one, despite the schema. These throw `RowDecodingError`.
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
