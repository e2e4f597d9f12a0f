// MPFR keeps constants per thread; a thread that ends must give them back.
#pragma once

namespace posenc::num {

/// Frees what this thread's Real computations have cached. Call at the end of a thread that used them.
void free_thread_caches();

}  // namespace posenc::num
