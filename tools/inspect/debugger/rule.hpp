// The rule of a node's op, as the tape and the compiler know it: the op and its rule run again on a tape of their
// own, and the lines at which the rule's nodes were made are shown, with the functions around them.
#pragma once

#include <string>

#include "tools/inspect/session.hpp"

namespace glim::step {

// "" for a leaf.
std::string rule_text(const Session& session, int node);

}  // namespace glim::step
