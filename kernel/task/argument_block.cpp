// See argument_block.h.
#include "task/argument_block.h"

#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral {

ArgumentBlock::~ArgumentBlock() {
  memory::release(text_);
}

Result<void> ArgumentBlock::allocate() {
  text_ = static_cast<char*>(memory::allocate(capacity));
  if (text_ == nullptr) return Errno::enomem;
  return {};
}

Result<void> ArgumentBlock::append(std::string_view string) {
  if (string.size() + 1 > room() || strings_ == max_strings) return Errno::e2big;
  memcpy(tail(), string.data(), string.size());
  tail()[string.size()] = '\0';
  commit(string.size());
  return {};
}

Result<void> ArgumentBlock::replace_first(std::string_view first, std::string_view second, std::string_view third) {
  u64 old_size = 0;
  u32 old_count = 0;
  if (arguments_ != 0) {
    old_size = strlen(text_) + 1;
    old_count = 1;
  }
  u64 new_size = first.size() + 1 + third.size() + 1 + (second.empty() ? 0 : second.size() + 1);
  if (used_ - old_size + new_size > capacity) return Errno::e2big;
  memmove(text_ + new_size, text_ + old_size, used_ - old_size);
  char* to = text_;
  u32 count = 0;
  for (std::string_view part : {first, second, third}) {
    if (part.empty() && part.data() == second.data()) continue;
    memcpy(to, part.data(), part.size());
    to[part.size()] = '\0';
    to += part.size() + 1;
    ++count;
  }
  used_ = used_ - old_size + new_size;
  strings_ = strings_ - old_count + count;
  arguments_ = arguments_ - old_count + count;
  return {};
}

}  // namespace corral
