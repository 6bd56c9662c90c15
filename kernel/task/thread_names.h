// What threads are called, and what they were called before: for the trace, whose records have only their numbers (trace/name_history.h).
//
// A name changes under a lock here, and is read for the trace under the same, so that nobody there takes half of one. Who shows a name as
// it is at a moment (/proc, ps) reads Thread::name without it.
#pragma once

#include <string_view>

#include "trace/name_history.h"

namespace corral {

class Thread;

namespace thread_names {

// From now on names that end are kept. The pages, a power of two, are not given back. False: names are kept already, by other pages.
// Any core, no lock.
[[nodiscard]] bool keep(trace::NameHistory::Page** pages, u64 count);
[[nodiscard]] bool kept();  // any context

// The thread is called `name` from now on, as much of it as there is room for. Any core, a lock of lower rank.
void change(Thread& thread, std::string_view name);
// Its number ceases to be its: it ends, or gets another. Before that, so that who does not find the thread finds the name.
void note_end(const Thread& thread);

// What the thread with this number was called at the time of this stamp (NameHistory::find). A step, no lock.
[[nodiscard]] trace::Name at(i32 number, u64 stamp);

}  // namespace thread_names
}  // namespace corral
