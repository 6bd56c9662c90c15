// Kernel objects of any size: slab caches of powers of two (and a few sizes between) over pages, blocks of pages above.
// operator new(std::nothrow) and delete use it. Never panics when memory is short: null, and the caller says enomem.
#pragma once

#include <new>
#include <utility>

#include "lib/result.h"
#include "lib/types.h"

namespace corral::memory {

void initialise_heap();  // boot context, after initialise_pages

// Any context; alignment is 16 for sizes below 64 and 64 from there on (a cache line). Null when memory is short.
[[nodiscard]] void* allocate(size_t size);
void release(void* pointer);  // null is allowed; a double release, or a pointer that is not the heap's, panics
// Returns the calling core's spare objects to their slabs (and so empty slabs to the pages); any context.
void trim_heap();

struct HeapStatistics {
  u64 objects, bytes;           // in use
  u64 slab_pages, block_pages;  // held, in use or not
  u64 sizes;                    // of objects; each may keep one spare slab
};
[[nodiscard]] HeapStatistics heap_statistics();

// The same of the objects of one size; those of blocks of pages are in no size. index: below HeapStatistics::sizes.
struct SizeStatistics {
  u64 object_size;         // in bytes
  u64 objects;             // in use
  u64 slabs;               // pages
  u64 objects_in_a_slab;
};
[[nodiscard]] SizeStatistics size_statistics(u64 index);

// Makes a T, or enomem.
template <class T, class... Arguments>
[[nodiscard]] Result<T*> make(Arguments&&... arguments) {
  T* object = new (std::nothrow) T(std::forward<Arguments>(arguments)...);
  if (object == nullptr) return Errno::enomem;
  return object;
}

}  // namespace corral::memory
