// The system calls on names of files, put together from the files that have them.
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
std::span<const Entry> path_calls() {
  if (joined.count == 0) {
    joined.add(open_calls());
    joined.add(name_calls());
    joined.add(stat_calls());
    joined.add(change_calls());
    joined.add(mount_calls());
  }
  return {joined.entries, joined.count};
}

}  // namespace corral::abi
