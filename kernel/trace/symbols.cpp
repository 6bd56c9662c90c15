// See trace/symbols.h. Layout of the table, written by kernel/tools/make_symbols.py: the number of functions, their
// entries in order of address, then the names, each ended by a zero byte.
#include "trace/symbols.h"

#include <span>

extern "C" {  // the linker script
extern const corral::u8 corral_symbols_start[];
extern const corral::u8 corral_symbols_end[];
extern const corral::u8 corral_image_base[];  // what the addresses of the entries count from
}

namespace corral::symbols {

namespace {

struct Entry {
  u32 address;  // from corral_image_base
  u32 size;     // bytes of the function
  u32 name;     // from the beginning of the names
};
static_assert(sizeof(Entry) == 12);

std::span<const Entry> entries() {
  if (corral_symbols_end - corral_symbols_start < static_cast<i64>(sizeof(u32))) return {};
  u32 number = *reinterpret_cast<const u32*>(corral_symbols_start);
  return {reinterpret_cast<const Entry*>(corral_symbols_start + sizeof(u32)), number};
}

}  // namespace

size_t count() {
  return entries().size();
}

Symbol find(VirtualAddress address) {
  u64 base = reinterpret_cast<u64>(corral_image_base);
  std::span<const Entry> all = entries();
  if (all.empty() || address.value < base || address.value - base > ~u32{0}) return {};
  u64 wanted = address.value - base;
  size_t low = 0;  // all before it begin at or before `wanted`
  size_t high = all.size();
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (all[middle].address <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {};
  const Entry& entry = all[low - 1];
  if (wanted >= u64{entry.address} + entry.size) return {};
  const char* names = reinterpret_cast<const char*>(all.data() + all.size());
  return {std::string_view{names + entry.name}, wanted - entry.address};
}

}  // namespace corral::symbols
