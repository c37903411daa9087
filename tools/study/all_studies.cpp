#include "tools/study/all_studies.hpp"

namespace glim {

const std::vector<Study>& studies() {
  static const std::vector<Study> all = {
      norm_placement_study(),    //
      warm_up_study(),           //
      scaling_study(),           //
      rank_collapse_study(),     //
      identical_tokens_study(),  //
      entropy_study(),           //
      dependence_study(),        //
      label_smoothing_study(),   //
      rollout_study(),           //
  };
  return all;
}

}  // namespace glim
