// The system calls on descriptors, put together from the files that have them.
#include "abi/linux/file_handlers.h"

namespace corral::abi {

namespace {

template <u64 Most>
struct Joined {
  Entry entries[Most] = {};
  u64 count = 0;
  void add(std::span<const Entry> more) {
    for (const Entry& entry : more) {
      if (count < Most) entries[count++] = entry;
    }
  }
};

constinit Joined<96> joined;

}  // namespace

// Boot context: called once, when the table of calls is made.
std::span<const Entry> file_calls() {
  if (joined.count == 0) {
    joined.add(transfer_calls());
    joined.add(descriptor_calls());
    joined.add(poll_calls());
  }
  return {joined.entries, joined.count};
}

}  // namespace corral::abi
