// /dev/trace: what the cores' rings have (trace/ring.h), as records of 64 bytes (whole_record.h), one core after the other.
//
// A read gives whole records that were not read yet through this open file, and 0 when there are no more: it does not wait. Where
// some are gone a record `lost` stands in front. One reader at a time for each open file: two would get some twice.
#include "core/core.h"
#include "fs/device_files.h"
#include "fs/transfer.h"
#include "fs/whole_record.h"
#include "memory/heap.h"
#include "trace/trace.h"

namespace corral::fs {

namespace {

class TraceReader final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  Result<u64> read(Thread& thread, Transfer& transfer) override;
  Result<u64> seek(i64, Whence) override { return Errno::espipe; }

 private:
  static constexpr u32 batch = 16;
  u32 collect(CoreId core, u64& next, std::span<trace::Record, batch> to) const;

  Atomic<u64> next_[max_cores] = {};
};

u32 TraceReader::collect(CoreId core, u64& next, std::span<trace::Record, batch> to) const {
  const trace::Ring<>& ring = trace::ring_of(core);
  u32 count = 0;
  union {
    u64 word[trace::Ring<>::words];
    trace::Record record;
  } copy;
  while (count < batch) {
    const u64 expected = next;
    u64 found = next;
    if (!ring.read(found, copy.word)) break;
    if (found != expected) {
      const trace::Loss loss{found - expected};
      to[count] = whole_record({copy.record.time, trace::Event::lost, 0, 0, 0, {loss.records}}, core);
      next = found;
      ++count;
      continue;  // the record itself is read again: there may be no room for it here
    }
    to[count++] = whole_record(copy.record, core);
    next = found + 1;
  }
  return count;
}

Result<u64> TraceReader::read(Thread&, Transfer& transfer) {
  if (transfer.size() != 0 && transfer.size() < sizeof(trace::Record)) return Errno::einval;
  trace::Record records[batch];
  for (u32 i = 0; i < cores::count(); ++i) {
    while (transfer.left() >= sizeof(trace::Record)) {
      u64 next = next_[i].load(Order::relaxed);
      const u64 count = smaller(collect(CoreId{i}, next, records), transfer.left() / sizeof(trace::Record));
      if (count == 0) break;
      const Result<void> put = transfer.put(0, records, count * sizeof(trace::Record));
      if (!put.ok()) {
        if (transfer.done() != 0 && put.error() != Errno::blocked) return transfer.done();
        return put.error();
      }
      // Those for which there was no room are read again.
      u64 last = next_[i].load(Order::relaxed);
      for (u64 k = 0; k < count; ++k) last = records[k].event == trace::Event::lost ? last + records[k].data[0] : last + 1;
      next_[i].store(last, Order::relaxed);
      transfer.advance(count * sizeof(trace::Record));
    }
  }
  return transfer.done();
}

}  // namespace

Result<Ref<OpenFile>> open_trace(Inode& node, const OpenRequest& request) {
  return Ref<OpenFile>{Ref<TraceReader>::adopt(TRY(memory::make<TraceReader>(Ref<Inode>::share(node), request.flags)))};
}

}  // namespace corral::fs
