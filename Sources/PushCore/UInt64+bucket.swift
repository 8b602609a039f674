extension UInt64 {
    /// The bucket of this key, from 0 to `count` - 1. If the number of buckets grows by one, keys
    /// move only to the new bucket.
    ///
    /// Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014.
    package func bucket(of count: Int64) -> Int64 {
        var (key, bucket, next) = (self, Int64(0), 0.0)
        while next < Double(count) {
            bucket = Int64(next)
            key = key &* 2_862_933_555_777_941_757 &+ 1
            next = (Double(bucket) + 1) * (0x1p31 / (Double(key >> 33) + 1))
        }
        return bucket
    }
}
