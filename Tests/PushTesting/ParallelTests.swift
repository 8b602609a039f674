internal import Glibc

/// Bounds how many tests run at the same time, unless the environment has another bound.
///
/// Without one all tests run at once, and take the processor from each other until their deadlines pass. The loader calls this
/// before the test runner reads its environment.
@section(".init_array") @used
private let boundParallelTests: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "6", 0)
}
