#include "tools/data/phrasebook/lexicon.hpp"

namespace glim::phrasebook {
namespace {

constexpr std::uint64_t kPets = kAnimal | kPet | kSize | kCute | kDraw | kTrade;
constexpr std::uint64_t kFarm = kAnimal | kOutdoor | kSize | kDraw | kTrade;
constexpr std::uint64_t kBook =
    kThing | kRead | kBorrow | kTrade | kNew | kInteresting | kGood | kSend;
constexpr std::uint64_t kCar = kVehicle | kOutdoor | kUse | kRepair | kWash | kTrade | kNew |
                               kSize | kColour | kFast | kBorrow;
constexpr std::uint64_t kFurniture = kTrade | kRepair | kNew | kSize | kColour | kDraw;
constexpr std::uint64_t kGarment =
    kThing | kClothes | kWash | kTrade | kNew | kColour | kPretty | kSend;
constexpr std::uint64_t kWorn = kThing | kAccessory | kTrade | kNew | kColour | kPretty | kSend;
constexpr std::uint64_t kTool = kThing | kUse | kTrade | kBorrow | kNew;
constexpr std::uint64_t kDevice =
    kThing | kUse | kRepair | kTrade | kBorrow | kNew | kGood | kColour;
constexpr std::uint64_t kFruit = kThing | kFood | kTrade | kSize | kWash | kDraw | kSend;

constexpr Noun kNouns[] = {
    {"cat", "cats", "猫", "只", kPets | kOutdoor | kPretty},
    {"dog", "dogs", "狗", "只", kPets | kOutdoor},
    {"rabbit", "rabbits", "兔子", "只", kPets},
    {"bird", "birds", "鸟", "只", kPets | kOutdoor | kPretty},
    {"monkey", "monkeys", "猴子", "只", kFarm | kCute},
    {"duck", "ducks", "鸭子", "只", kFarm | kWater | kCute},
    {"fish", "fish", "鱼", "条", kAnimal | kWater | kSize | kDraw | kTrade | kPretty},
    {"snake", "snakes", "蛇", "条", kAnimal | kOutdoor | kLong | kDraw | kSize},
    {"horse", "horses", "马", "匹", kFarm | kPretty | kFast},
    {"cow", "cows", "牛", "头", kFarm},
    {"pig", "pigs", "猪", "头", kFarm | kCute},
    {"book", "books", "书", "本", kBook | kHeavy | kWrite},
    {"dictionary", "dictionaries", "词典", "本",
     kThing | kUse | kBorrow | kTrade | kNew | kGood | kSend | kHeavy | kSize},
    {"magazine", "magazines", "杂志", "本", kBook},
    {"novel", "novels", "小说", "本", kBook | kLong | kWrite},
    {"newspaper", "newspapers", "报纸", "份", kThing | kRead | kTrade | kInteresting | kSend},
    {"letter", "letters", "信", "封", kThing | kRead | kWrite | kLong | kInteresting | kSend},
    {"map", "maps", "地图", "张", kThing | kUse | kDraw | kTrade | kBorrow | kNew | kSend | kSize},
    {"photo", "photos", "照片", "张", kThing | kPretty | kInteresting | kSend | kNew},
    {"ticket", "tickets", "票", "张", kThing | kTrade | kSend},
    {"table", "tables", "桌子", "张", kFurniture | kHeavy},
    {"bed", "beds", "床", "张", kTrade | kNew | kSize | kHeavy},
    {"chair", "chairs", "椅子", "把", kFurniture | kHeavy | kBorrow},
    {"knife", "knives", "刀", "把", kTool | kWash | kSize},
    {"key", "keys", "钥匙", "把", kThing | kUse | kSend},
    {"umbrella", "umbrellas", "雨伞", "把", kTool | kRepair | kColour | kPretty | kSize | kSend},
    {"car", "cars", "汽车", "辆", kCar | kGood | kPretty},
    {"bicycle", "bicycles", "自行车", "辆", kCar | kGood},
    {"truck", "trucks", "卡车", "辆", kCar},
    {"boat", "boats", "船", "条",
     kWater | kRepair | kTrade | kNew | kSize | kColour | kFast | kDraw},
    {"shirt", "shirts", "衬衫", "件", kGarment},
    {"coat", "coats", "大衣", "件", kGarment | kHeavy},
    {"sweater", "sweaters", "毛衣", "件", kGarment},
    {"skirt", "skirts", "裙子", "条", kGarment | kLong},
    {"scarf", "scarves", "围巾", "条", kWorn | kLong | kWash},
    {"hat", "hats", "帽子", "顶", kWorn | kSize | kWash},
    {"watch", "watches", "手表", "块", kWorn | kRepair | kGood},
    {"pen", "pens", "钢笔", "支", kTool | kColour | kGood | kSend},
    {"pencil", "pencils", "铅笔", "支", kTool | kColour | kLong | kSend},
    {"computer", "computers", "电脑", "台", kDevice | kHeavy},
    {"camera", "cameras", "照相机", "台", kDevice},
    {"phone", "phones", "手机", "部", kDevice | kSend},
    {"bag", "bags", "包", "个",
     kThing | kUse | kTrade | kNew | kSize | kColour | kPretty | kHeavy | kWash},
    {"box", "boxes", "箱子", "个", kUse | kTrade | kSize | kColour | kHeavy},
    {"apple", "apples", "苹果", "个", kFruit | kColour},
    {"orange", "oranges", "橙子", "个", kFruit},
    {"egg", "eggs", "鸡蛋", "个", kThing | kFood | kTrade | kSize},
    {"cake", "cakes", "蛋糕", "个", kFood | kTrade | kSize | kPretty | kSend},
    {"banana", "bananas", "香蕉", "根", kThing | kFood | kTrade | kSend},
    {"flower", "flowers", "花", "朵",
     kOutdoor | kThing | kDraw | kTrade | kColour | kPretty | kSize | kSend},
    {"tree", "trees", "树", "棵", kOutdoor | kDraw | kSize},
    {"song", "songs", "歌", "首", kSong | kWrite},
    {"film", "films", "电影", "部", kFilm | kInteresting | kLong},
    {"child", "children", "孩子", "个", kPerson | kOutdoor | kCute},
    {"student", "students", "学生", "个", kPerson | kOutdoor | kGood},
    {"teacher", "teachers", "老师", "位", kPerson | kGood},
    {"doctor", "doctors", "医生", "位", kPerson | kGood},
    {"tea", "tea", "茶", "杯", kDrink | kTrade | kServed, "cup", "cups"},
    {"coffee", "coffee", "咖啡", "杯", kDrink | kTrade | kServed, "cup", "cups"},
    {"water", "water", "水", "杯", kDrink | kServed, "glass", "glasses"},
    {"milk", "milk", "牛奶", "杯", kDrink | kTrade | kServed, "glass", "glasses"},
    {"juice", "juice", "果汁", "瓶", kDrink | kTrade | kServed, "bottle", "bottles"},
    {"cola", "cola", "可乐", "瓶", kDrink | kTrade | kServed, "bottle", "bottles"},
    {"rice", "rice", "米饭", "碗", kFood | kServed, "bowl", "bowls"},
    {"noodles", "noodles", "面条", "碗", kFood | kServed, "bowl", "bowls"},
    {"bread", "bread", "面包", "块", kFood | kTrade | kServed, "piece", "pieces"},
    {"shoes", "shoes", "鞋", "双", kClothes | kRepair | kWash | kTrade | kNew | kColour, "pair",
     "pairs"},
    {"socks", "socks", "袜子", "双", kClothes | kWash | kTrade | kNew | kColour, "pair", "pairs"},
    {"gloves", "gloves", "手套", "双", kAccessory | kWash | kTrade | kNew | kColour, "pair",
     "pairs"},
};

constexpr std::uint64_t kAnywhere = kHome | kStudy | kEat | kYard | kPublic;

constexpr Verb kVerbs[] = {
    {"buy", "buys", "bought", "buying", "买", kTrade, kShop},
    {"sell", "sells", "sold", "selling", "卖", kTrade, kShop},
    {"eat", "eats", "ate", "eating", "吃", kFood, kHome | kEat},
    {"drink", "drinks", "drank", "drinking", "喝", kDrink, kHome | kEat},
    {"read", "reads", "read", "reading", "看", kRead, kHome | kStudy, false, true},
    {"write", "writes", "wrote", "writing", "写", kWrite, kHome | kStudy},
    {"draw", "draws", "drew", "drawing", "画", kDraw, kHome | kStudy},
    {"wash", "washes", "washed", "washing", "洗", kWash, kHome | kYard},
    {"repair", "repairs", "repaired", "repairing", "修", kRepair, kHome | kYard},
    {"feed", "feeds", "fed", "feeding", "喂", kAnimal, kYard},
    {"borrow", "borrows", "borrowed", "borrowing", "借", kBorrow},
    {"use", "uses", "used", "using", "用", kUse, kHome | kStudy},
    {"watch", "watches", "watched", "watching", "看", kFilm, kHome},
    {"sing", "sings", "sang", "singing", "唱", kSong, kHome | kStudy | kYard},
    {"find", "finds", "found", "finding", "找到", kThing | kPet, kAnywhere, true},
    {"see", "sees", "saw", "seeing", "看见", kOutdoor | kPerson, kSight, true},
};

constexpr Adjective kAdjectives[] = {
    {"big", "bigger", "大", "大", kSize},
    {"small", "smaller", "小", "小", kSize},
    {"new", "newer", "新", "新", kNew},
    {"old", "older", "旧", "旧", kNew},
    {"good", "better", "好", "好", kGood},
    {"expensive", "more expensive", "很贵的", "贵", kTrade},
    {"cheap", "cheaper", "便宜的", "便宜", kTrade},
    {"beautiful", "more beautiful", "漂亮的", "漂亮", kPretty},
    {"interesting", "more interesting", "有意思的", "有意思", kInteresting},
    {"heavy", "heavier", "很重的", "重", kHeavy},
    {"long", "longer", "很长的", "长", kLong},
    {"cute", "cuter", "可爱的", "可爱", kCute},
    {"delicious", "more delicious", "好吃的", "好吃", kFood},
    {"fast", "faster", "很快的", "快", kFast},
    {"red", "", "红色的", "红色", kColour, true},
    {"black", "", "黑色的", "黑色", kColour | kPet, true},
    {"white", "", "白色的", "白色", kColour | kPet, true},
    {"blue", "", "蓝色的", "蓝色", kColour, true},
    {"green", "", "绿色的", "绿色", kColour, true},
    {"yellow", "", "黄色的", "黄色", kColour, true},
};

constexpr Adjective kMoods[] = {
    {"tired", "", "", "累", 0},          {"busy", "busier", "", "忙", 0},
    {"happy", "happier", "", "高兴", 0}, {"hungry", "", "", "饿", 0},
    {"thirsty", "", "", "渴", 0},        {"tall", "taller", "", "高", 0},
    {"young", "younger", "", "年轻", 0},
};

constexpr Noun kProfessions[] = {
    {"teacher", "teachers", "老师", "位", kPerson}, {"doctor", "doctors", "医生", "位", kPerson},
    {"student", "students", "学生", "个", kPerson}, {"driver", "drivers", "司机", "位", kPerson},
    {"nurse", "nurses", "护士", "位", kPerson},     {"cook", "cooks", "厨师", "位", kPerson},
    {"singer", "singers", "歌手", "位", kPerson},   {"writer", "writers", "作家", "位", kPerson},
};

constexpr Place kPlaces[] = {
    {"at home", "家里", kHome},
    {"at school", "学校", kStudy | kEat | kPublic | kSight, "to school", "学校"},
    {"in the library", "图书馆", kStudy | kPublic, "to the library", "图书馆"},
    {"in the office", "办公室", kStudy | kEat, "to the office", "办公室"},
    {"in the park", "公园里", kStudy | kEat | kYard | kPublic | kSight, "to the park", "公园"},
    {"in the garden", "花园里", kStudy | kEat | kYard | kPublic},
    {"in the kitchen", "厨房里", kEat},
    {"in the restaurant", "餐厅里", kEat | kPublic, "to the restaurant", "餐厅"},
    {"at the market", "市场上", kShop | kPublic | kSight, "to the market", "市场"},
    {"in the shop", "商店里", kShop, "to the shop", "商店"},
    {"at the station", "车站", kPublic | kSight, "to the station", "车站"},
    {"in the street", "街上", kPublic | kSight},
    {"in the hospital", "医院里", 0, "to the hospital", "医院"},
    {"at the airport", "机场", kPublic, "to the airport", "机场"},
};

constexpr Spot kSpots[] = {
    {"on the table", "桌子上", kThing | kServed},
    {"on the chair", "椅子上", kThing | kPet},
    {"on the bed", "床上", kThing | kPet},
    {"under the table", "桌子下面", kThing | kPet},
    {"under the bed", "床下面", kThing | kPet},
    {"in the box", "箱子里", kThing | kPet},
    {"in the bag", "包里", kThing},
    {"in the room", "房间里", kThing | kPet | kPerson},
    {"in the park", "公园里", kOutdoor},
    {"in the garden", "花园里", kOutdoor},
    {"in the street", "街上", kOutdoor},
    {"in front of the house", "房子前面", kOutdoor},
    {"behind the house", "房子后面", kOutdoor},
    {"in the river", "河里", kWater},
};

constexpr TimeWord kPast[] = {
    {"yesterday", "昨天"},     {"this morning", "今天早上"}, {"last night", "昨天晚上"},
    {"last week", "上个星期"}, {"last month", "上个月"},     {"last year", "去年"},
};

constexpr TimeWord kFuture[] = {
    {"tomorrow", "明天"},     {"tonight", "今天晚上"}, {"next week", "下个星期"},
    {"next month", "下个月"}, {"next year", "明年"},   {"this weekend", "这个周末"},
};

constexpr TimeWord kHabits[] = {
    {"every day", "每天"},
    {"every morning", "每天早上"},
    {"every evening", "每天晚上"},
    {"every week", "每个星期"},
};

constexpr TimeWord kFrequencies[] = {
    {"often", "常常"},       {"always", "总是"},  {"usually", "通常"},
    {"sometimes", "有时候"}, {"never", "从来不"},
};

constexpr Number kNumbers[] = {
    {"two", "两"},   {"three", "三"}, {"four", "四"}, {"five", "五"}, {"six", "六"},
    {"seven", "七"}, {"eight", "八"}, {"nine", "九"}, {"ten", "十"},
};

constexpr Person kPronouns[] = {
    {"I", "me", "我", "my", "我的", false, true}, {"you", "you", "你", "your", "你的", false, true},
    {"he", "him", "他", "his", "他的"},           {"she", "her", "她", "her", "她的"},
    {"we", "us", "我们", "our", "我们的", true},  {"they", "them", "他们", "their", "他们的", true},
};

constexpr Person kPeople[] = {
    {"Tom", "Tom", "汤姆"},
    {"Anna", "Anna", "安娜"},
    {"my mother", "my mother", "我妈妈"},
    {"your father", "your father", "你爸爸"},
    {"her older sister", "her older sister", "她姐姐"},
    {"my younger brother", "my younger brother", "我弟弟"},
    {"our teacher", "our teacher", "我们的老师"},
    {"his friend", "his friend", "他的朋友"},
    {"the doctor", "the doctor", "医生"},
    {"the children", "the children", "孩子们", {}, {}, true},
    {"the students", "the students", "学生们", {}, {}, true},
    {"their friends", "their friends", "他们的朋友", {}, {}, true},
};

constexpr TimeWord kTransport[] = {
    {"by bus", "坐公共汽车"}, {"by train", "坐火车"},     {"by taxi", "坐出租车"},
    {"by car", "开车"},       {"by bicycle", "骑自行车"}, {"on foot", "走路"},
};

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Verb> verbs() { return kVerbs; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Adjective> moods() { return kMoods; }
std::span<const Noun> professions() { return kProfessions; }
std::span<const Place> places() { return kPlaces; }
std::span<const Spot> spots() { return kSpots; }
std::span<const TimeWord> past_times() { return kPast; }
std::span<const TimeWord> future_times() { return kFuture; }
std::span<const TimeWord> habits() { return kHabits; }
std::span<const TimeWord> frequencies() { return kFrequencies; }
std::span<const Number> numbers() { return kNumbers; }
std::span<const Person> pronouns() { return kPronouns; }
std::span<const Person> people() { return kPeople; }
std::span<const TimeWord> transport() { return kTransport; }

}  // namespace glim::phrasebook
