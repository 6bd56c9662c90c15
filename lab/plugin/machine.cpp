#include "machine.h"

#include "report.h"

namespace corral::cache_model {

Machine::Machine(u32 cores, const Parameters& parameters)
    : parameters_{parameters},
      inboxes_(cores),
      shared_{parameters.l2, parameters.l2_cores(cores), inboxes_},
      turns_{cores, parameters} {
  for (u32 i = 0; i < cores; ++i) cores_.emplace_back(i, parameters_, inboxes_[i], shared_);
}

void Machine::seat(u32 core, Page& page) {
  if (page.version != version || page.asking >= most_cores) return;
  cores_[core].take(page.seats[page.asking]);
  page.l1_bytes = parameters_.l1.size;
  page.l2_bytes = parameters_.l2.size;
  page.line_bytes = parameters_.l1.line;
  page.answer = version;
}

void Machine::reset_report() {
  for (Core& core : cores_) core.reset_report();
}

void Machine::forget() {
  for (Core& core : cores_) core.forget();
  shared_.clear();
}

std::string Machine::report(std::string_view label) {
  ThreadUses threads;
  std::vector<Reading> cores;
  for (Core& core : cores_) cores.push_back(core.report(threads));
  return as_json(label, parameters_, cores, threads);
}

}  // namespace corral::cache_model
