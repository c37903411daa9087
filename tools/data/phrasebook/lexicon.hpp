// The words of the phrasebook: their meanings, the measure word of each noun, and which words go together, so
// that the grammar makes sensible sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace glim::phrasebook {

// What can be done with a noun, or be said of it.
enum Tag : std::uint64_t {
  kAnimal = std::uint64_t{1} << 0,
  kPet = std::uint64_t{1} << 1,      // lives in the house
  kOutdoor = std::uint64_t{1} << 2,  // seen in parks and streets
  kWater = std::uint64_t{1} << 3,    // seen on the river
  kThing = std::uint64_t{1} << 4,    // lies on tables and in bags
  kRead = std::uint64_t{1} << 5,
  kWrite = std::uint64_t{1} << 6,
  kDraw = std::uint64_t{1} << 7,
  kVehicle = std::uint64_t{1} << 8,
  kClothes = std::uint64_t{1} << 9,     // worn: 穿
  kAccessory = std::uint64_t{1} << 10,  // worn: 戴
  kUse = std::uint64_t{1} << 11,
  kRepair = std::uint64_t{1} << 12,
  kWash = std::uint64_t{1} << 13,
  kBorrow = std::uint64_t{1} << 14,
  kTrade = std::uint64_t{1} << 15,  // bought and sold
  kFood = std::uint64_t{1} << 16,
  kDrink = std::uint64_t{1} << 17,
  kPerson = std::uint64_t{1} << 18,
  kSong = std::uint64_t{1} << 19,
  kFilm = std::uint64_t{1} << 20,
  kSize = std::uint64_t{1} << 21,  // big, small
  kNew = std::uint64_t{1} << 22,   // new, old
  kPretty = std::uint64_t{1} << 23,
  kInteresting = std::uint64_t{1} << 24,
  kHeavy = std::uint64_t{1} << 25,
  kLong = std::uint64_t{1} << 26,
  kCute = std::uint64_t{1} << 27,
  kColour = std::uint64_t{1} << 28,
  kFast = std::uint64_t{1} << 29,
  kGood = std::uint64_t{1} << 30,
  kSend = std::uint64_t{1} << 31,    // given, sent, shown
  kServed = std::uint64_t{1} << 32,  // stands on a table in a cup or bowl
};

// With a `unit` ("cup", "pair") the noun itself is not counted: "two cups of tea", 两杯茶.
struct Noun {
  std::string_view singular, plural, chinese, measure;
  std::uint64_t tags;
  std::string_view unit = {}, units = {};
};

struct Verb {
  std::string_view base, third, past, ing, chinese;
  std::uint64_t objects;     // tags of which the object needs one
  std::uint64_t places = 0;  // tags of the places where one does it
  bool result = false;  // 找到, 看见: an outcome, neither lasting nor habitual nor wished for
  bool past_is_base = false;  // "read": the tense must be said by another word
};

struct Adjective {
  std::string_view english, comparative, attribute, predicate;
  std::uint64_t tags;
  bool colour = false;  // predicate with 是 … 的
};

enum PlaceTag : std::uint64_t {
  kHome = std::uint64_t{1} << 0,
  kStudy = std::uint64_t{1} << 1,  // where one reads and writes
  kEat = std::uint64_t{1} << 2,
  kShop = std::uint64_t{1} << 3,
  kYard = std::uint64_t{1} << 4,    // where one washes, repairs, feeds
  kPublic = std::uint64_t{1} << 5,  // where one meets, waits, finds
  kSight = std::uint64_t{1} << 6,   // where there is something to see
};

struct Place {
  std::string_view english, chinese;  // "in the park", 公园里: after 在
  std::uint64_t tags;
  std::string_view to = {}, destination = {};  // "to the park", 公园
};

// Where something lies or stands: "on the table", 桌子上.
struct Spot {
  std::string_view english, chinese;
  std::uint64_t holds;  // tags of what may be there
};

struct TimeWord {
  std::string_view english, chinese;
};

struct Number {
  std::string_view english, chinese;
};

struct Person {
  std::string_view subject, object, chinese;
  std::string_view possessive = {};          // of pronouns: "my"
  std::string_view possessive_chinese = {};  // 我的
  bool plural = false;                       // agrees with "are"
  bool first_or_second = false;              // I, you
};

std::span<const Noun> nouns();
std::span<const Verb> verbs();
std::span<const Adjective> adjectives();  // of things
std::span<const Adjective> moods();       // of people: tired, busy
std::span<const Noun> professions();
std::span<const Place> places();
std::span<const Spot> spots();
std::span<const TimeWord> past_times();
std::span<const TimeWord> future_times();
std::span<const TimeWord> habits();       // at the end: every day
std::span<const TimeWord> frequencies();  // before the verb: often
std::span<const Number> numbers();        // two, three, …
std::span<const Person> pronouns();
std::span<const Person> people();       // Tom, my mother, the children
std::span<const TimeWord> transport();  // by bus, 坐公共汽车

}  // namespace glim::phrasebook
