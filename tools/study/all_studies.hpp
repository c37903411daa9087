// Every study, for the table in table.cpp: each in a file of its own.
#pragma once

#include "tools/study/study.hpp"

namespace glim {

Study norm_placement_study();
Study warm_up_study();
Study scaling_study();
Study rank_collapse_study();
Study identical_tokens_study();
Study entropy_study();
Study dependence_study();
Study label_smoothing_study();
Study rollout_study();

}  // namespace glim
