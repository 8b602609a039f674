package sealpost.backend;

/** A value of the API. Two values with equal JSON are equal. */
abstract class Value {
    private final Json json;

    Value(Json json) {
        this.json = json;
    }

    @Override
    public boolean equals(Object other) {
        return other != null && getClass() == other.getClass() && json.equals(((Value) other).json);
    }

    @Override
    public int hashCode() {
        return json.hashCode();
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + json;
    }
}
