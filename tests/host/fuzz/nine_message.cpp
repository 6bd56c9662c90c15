// Answers of a 9P server that are anything at all: what is read lies inside them, and reading ends.
// sources: kernel/fs/nine/message.cpp
#include <cstdlib>

#include "fs/nine/message.h"

extern "C" int LLVMFuzzerTestOneInput(const corral::u8* data, size_t size) {
  using namespace corral;
  using namespace corral::fs::nine;
  if (size < 2) return 0;
  const std::span<const u8> bytes{data + 1, size - 1};
  const auto inside = [&](std::string_view text) {
    const auto* start = reinterpret_cast<const u8*>(text.data());
    if (!text.empty() && (start < bytes.data() || start + text.size() > bytes.data() + bytes.size())) std::abort();
  };
  Decoder whole{bytes};
  u32 error = 0;
  if (check_answer(whole, data[0], Type::readdir, 0, error) && error == 0) (void)read_attributes(whole);
  Decoder names{bytes};
  DirectoryName name;
  u64 left = names.left() + 1;
  while (next_name(names, name)) {
    if (names.left() >= left || name.name.empty()) std::abort();
    left = names.left();
    inside(name.name);
  }
  Decoder texts{bytes};
  while (!texts.bad() && texts.left() > 0) inside(texts.text());
  return 0;
}
