// Any bytes as a program: parse() never reads outside, and what it accepts keeps every promise that the loader relies on.
// sources: kernel/task/elf.cpp
#include <cstdlib>

#include "task/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, size_t size) {
  using namespace corral;
  const char* why = nullptr;
  const size_t head = size < elf::header_bytes ? size : elf::header_bytes;
  Result<elf::Image> parsed = elf::parse({bytes, head}, size, why);
  if (!parsed.ok()) {
    if (parsed.error() != Errno::enoexec || why == nullptr) std::abort();
    return 0;
  }
  const elf::Image& image = parsed.value();
  if (image.segment_count == 0 || image.segment_count > elf::Image::max_segments) std::abort();
  u64 end = 0;
  for (u32 i = 0; i < image.segment_count; ++i) {
    const elf::Segment& s = image.segments[i];
    if (s.file_size > s.memory_size || s.file_offset + s.file_size > size) std::abort();
    if (s.address + s.memory_size >= 0x8000'0000'0000 || s.address % page_size != s.file_offset % page_size) std::abort();
    if (round_down(s.address, page_size) < end) std::abort();
    end = round_up(s.address + s.memory_size, page_size);
  }
  if (image.entry < image.lowest || image.entry >= image.highest || image.highest != end) std::abort();
  if (image.interpreter_size == 1 || image.interpreter_size > 4096) std::abort();
  return 0;
}
