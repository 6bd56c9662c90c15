// See whole_record.h. What stands in a ring: trace/record.h, trace/head.h.
#include "fs/whole_record.h"

#include "device/interrupts.h"
#include "lib/text.h"
#include "task/thread_names.h"
#include "trace/head.h"
#include "trace/stamp.h"

namespace corral::fs {

namespace {

using trace::Event;
using trace::Name;
using trace::Record;

constexpr char idle_text[sizeof(Name)] = "swapper";
constexpr Name idle_name = __builtin_bit_cast(Name, idle_text);

template <class Data>
void put(Record& to, const Data& data) {
  static_assert(sizeof data <= sizeof to.data);
  __builtin_memset(to.data, 0, sizeof to.data);
  __builtin_memcpy(to.data, &data, sizeof data);
}

class Reading {
 public:
  Reading(const Record& record, CoreId core) : found_{record}, whole_{record} {
    whole_.time = static_cast<u64>(trace::time_of(found_.time).ns);
    whole_.core = static_cast<u16>(core.value);
  }

  Record whole() {
    switch (found_.event) {
      case Event::switched: switched(found_.data[0]); break;
      case Event::waking:
      case Event::woken:
      case Event::created: put(whole_, trace::Wake{own_name(), priority(), static_cast<u32>(found_.data[0])}); break;
      case Event::migrated: {
        const u32 from = static_cast<u32>(found_.data[0]), to = static_cast<u32>(found_.data[1]);
        put(whole_, trace::Migration{own_name(), priority(), from, to});
        break;
      }
      case Event::placed: placed(known<trace::Placement>()); break;
      case Event::message_sent:
      case Event::message_taken: put(whole_, known<trace::Message>()); break;
      case Event::call_begun:
        if (found_.detail != trace::with_arguments) put(whole_, trace::Call{found_.data[0], {}});
        break;
      case Event::call_ended: put(whole_, trace::Call{found_.data[0], {found_.data[1]}}); break;
      case Event::called: called({found_.data[0], found_.data[1], found_.data[2]}); break;
      case Event::called_with: {
        const u64 took = found_.data[0] >> trace::Called::number_bits;
        whole_.data[0] = number_and_time(found_.data[0] & trace::Called::highest_number, found_.time - took);
        break;
      }
      case Event::interrupt_begun:
      case Event::interrupt_ended: interrupt(static_cast<u32>(found_.data[0])); break;
      default: break;
    }
    return whole_;
  }

 private:
  template <class Data>
  [[nodiscard]] Data known() const {
    Data data;
    __builtin_memcpy(&data, found_.data, sizeof data);
    return data;
  }

  void placed(trace::Placement placement) {
    for (u32 i = placement.candidates; i < trace::Placement::most; ++i) placement.candidate[i] = 0;
    put(whole_, placement);
  }

  void switched(u64 next) {
    const i32 thread = trace::thread_in(next);
    put(whole_, trace::Switch{{name_of(thread), trace::priority_in(next), thread}, own_name(), priority()});
  }

  void called(const trace::CalledInRing& call) {
    const u64 highest = trace::Called::highest_number;
    const u64 number = call.number < highest ? call.number : highest;
    put(whole_, trace::Called{number_and_time(number, call.begun), call.answer, {}});
  }

  void interrupt(u32 vector) {
    trace::Interrupt interrupt{vector, {}};
    if (const char* name = interrupts::name_of(vector)) copy_text(interrupt.name, sizeof interrupt.name, name);
    put(whole_, interrupt);
  }

  [[nodiscard]] i32 priority() const { return static_cast<i16>(found_.core); }
  [[nodiscard]] Name own_name() const { return name_of(found_.thread); }
  [[nodiscard]] Name name_of(i32 thread) const { return thread == 0 ? idle_name : thread_names::at(thread, found_.time); }
  // `begun`: a stamp; the record's is that of the end.
  [[nodiscard]] u64 number_and_time(u64 number, u64 begun) const {
    return (whole_.time - static_cast<u64>(trace::time_of(begun).ns)) << trace::Called::number_bits | number;
  }

  const Record& found_;
  Record whole_;
};

}  // namespace

Record whole_record(const Record& record, CoreId core) {
  return Reading{record, core}.whole();
}

}  // namespace corral::fs
