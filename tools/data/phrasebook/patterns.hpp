// Each pattern draws one sentence. clauses.hpp shows what they look like.
#pragma once

#include "tools/data/phrasebook/phrases.hpp"

namespace glim::phrasebook {

using Pattern = Phrase (*)(Draw&);

// actions.cpp: a verb with an object, a time and a place.
Phrase past_action(Draw& d);
Phrase future_action(Draw& d);
Phrase habit(Draw& d);
Phrase progressive(Draw& d);
Phrase wish(Draw& d);     // want to buy
Phrase wearing(Draw& d);  // 穿着, 戴着
Phrase looking_for(Draw& d);
Phrase person_action(Draw& d);  // help, call, wait for
Phrase giving(Draw& d);         // give me a book
Phrase putting(Draw& d);        // 把 … 放在 …
Phrase going(Draw& d);
Phrase request(Draw& d);  // please …

// states.cpp: have, like, be, and the questions.
Phrase possession(Draw& d);
Phrase liking(Draw& d);
Phrase need(Draw& d);
Phrase identity(Draw& d);  // this is my book
Phrase profession(Draw& d);
Phrase quality(Draw& d);  // this book is very cheap
Phrase mood(Draw& d);     // I am tired
Phrase comparison(Draw& d);
Phrase existence(Draw& d);  // there is
Phrase location(Draw& d);   // my key is on the table
Phrase how_many(Draw& d);
Phrase which(Draw& d);
Phrase what(Draw& d);
Phrase relative(Draw& d);  // the book that I bought

}  // namespace glim::phrasebook
