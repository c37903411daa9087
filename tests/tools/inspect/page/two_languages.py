"""The guided path in its second language: it repeats each step's answer with the same numbers."""
import re

import chromium

# In the page: the answer in the other language, and back; the switch is pressed as a person does.
HELPERS = """
window.in_chinese = () => {
  const press = () => document.getElementById("path-language").click(), path = document.getElementById("path");
  press();
  const said = [path.lang, path.innerText];
  press();
  return [...said, path.lang];
};
"""
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def same_in_both(check, where, answer, in_chinese):
    lang, chinese, back = in_chinese
    check((lang, back) == ("zh", "en"), f"{where}: lang {lang}, then {back}")
    check(not re.search("NaN|undefined|null", chinese), f"{where}: {chinese}")
    english = re.findall("[a-z]{4} [a-z]{2}.*", chinese.replace(" et al.", ""))
    check(len(chinese) > 100 and not english, f"{where}: not Chinese: {english}")
    lost = set(NUMBER.findall(answer)) - set(NUMBER.findall(chinese))
    check(not lost, f"{where}: in Chinese without {lost}")


SEEN = """(() => { const path = document.getElementById("path");
  return {lang: path.lang, other: document.getElementById("path-language").textContent, text: path.innerText,
    address: location.search, focus: document.activeElement.id, wide: document.documentElement.scrollWidth - window.innerWidth,
    chosen: [...document.querySelectorAll("#path-stop input")].map(e => e.checked).indexOf(true)}; })()"""
OTHER = {"en": "中文", "zh": "English"}


def try_switch(check, page, ready):
    """By keyboard to Chinese, a reload, and back: the language stays, and so does what was answered."""
    def press():
        page.evaluate("document.getElementById('path-language').focus()")
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")

    def seen(lang, address, chosen):
        now = page.evaluate(SEEN)
        check((now["lang"], now["other"], now["address"], now["chosen"]) == (lang, OTHER[lang], address, chosen), f"{lang}: {now}")
        check((re.search("[\u4e00-\u9fff]", now["text"].replace("中文", "")) is not None) == (lang == "zh"), now["text"])
        check(now["wide"] <= 1, f"in {lang} {now['wide']} px wider than the window")
        for text in chromium.faint(page)[1]:
            check(False, f"in {lang}: {text}")
        return now["focus"]

    page.evaluate("document.querySelectorAll('#path-stop input')[4].click()")
    seen("en", "", 4)
    press()
    check(seen("zh", "?lang=zh", 4) == "path-language", "the switch has the keyboard's focus")
    page.loaded = False
    page.call("Page.reload")
    while not page.loaded:
        page.receive()
    check(page.requests.pop().endswith("inspect.html?lang=zh"), "a reload reads the page, and nothing else")
    page.evaluate(ready)
    seen("zh", "?lang=zh", -1)
    press()
    seen("en", "?lang=en", -1)
