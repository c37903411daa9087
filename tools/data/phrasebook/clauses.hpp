// The sentence patterns of the phrasebook. In all of them time stands after the Chinese subject (or
// before it, when the English sentence opens with it) and place before the verb:
//
//   She bought two books at the market yesterday   她昨天在市场上买了两本书
//   I will not sell my car tomorrow                我明天不会卖我的汽车
//   He is reading a letter in the park             他正在公园里看一封信
//   There are three cats under the bed             床下面有三只猫
//   The book that I bought yesterday is cheap      我昨天买的书很便宜
//   Is Tom taller than my mother                   汤姆比我妈妈高吗
//
// Present and future are denied with 不, the past and 有 with 没有; questions end in 吗 or hold 谁, 什么,
// 哪, 几 where the answer would stand. Sentences have no final punctuation.
#pragma once

#include <string>
#include <vector>

#include "tools/data/corpus/random.hpp"

namespace glim::phrasebook {

struct Sentence {
  std::string english, chinese;
  std::vector<std::string> combinations;  // see Draw::note
};

// One sentence, its pattern drawn too.
Sentence draw_sentence(SplitMix64& random);

}  // namespace glim::phrasebook
