// Every study, for the table in table.cpp: each in a file of its own.
#pragma once

#include "tools/study/study.hpp"

namespace glim {

Study norm_placement_study();

}  // namespace glim
