internal import Glibc

/// Limits how many tests run at the same time, unless the environment sets another limit.
///
/// Without a limit all tests run at once and compete for the processor until their deadlines
/// pass. The loader calls this before the test runner reads its environment.
@section(".init_array") @used
private let boundParallelTests: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "6", 0)
}
