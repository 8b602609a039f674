internal import Glibc

/// Limits the number of tests that run at the same time, unless the environment sets another
/// limit.
///
/// Without a limit, all tests run together, and miss their deadlines because they compete for the
/// processor. The loader calls this function before the test runner reads its environment.
@section(".init_array") @used
private let boundParallelTests: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "6", 0)
}
