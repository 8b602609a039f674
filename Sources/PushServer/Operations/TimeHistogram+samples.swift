package import PushCore

extension TimeHistogram {
    /// The samples of a histogram: its buckets, the sum in seconds, and the count; none if nothing
    /// was counted.
    package func samples(_ name: MetricName, _ labels: [[String]]) -> [MetricSample] {
        let total = self.total
        if total == 0 { return [] }
        var sum = 0
        let bounds = Self.bounds.map { "\(Double($0) / 1_000_000)" } + ["+Inf"]
        let buckets = zip(bounds, self.counts).map { bound, count in
            sum += count
            return MetricSample(name, labels + [["le", bound]], Double(sum), suffix: "_bucket")
        }
        return buckets + [
            MetricSample(name, labels, Double(self.microseconds) / 1_000_000, suffix: "_sum"),
            MetricSample(name, labels, Double(total), suffix: "_count"),
        ]
    }
}
