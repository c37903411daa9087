#!/usr/bin/env python3
"""A user's text in every language that Glim writes: it stays text, runs nothing, and is read back.

    escape.py GLIM ESCAPED ROOT

One list of hostile texts goes through each function of tools/common/escape.hpp and into each kind of file, and a reader of
that language reads them: Python, a C++ compiler, parsers of XML, HTML, JSON and TOML, a shell. Commands then get such
a text as a sentence and as a model's folder.
"""
import ast
import csv
import html.parser
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as xml

TEXTS = [
    b"plain", b"", b" ", b"it's \"quoted\"", b'"', b'"""', b'"""\nopen("HIT", "w")\n"""', b"'''", b'\\"""\nopen("HIT", "w")\n\\"""',
    b"\\", b"\\\\", b"\\ ", b"a\\\n", b"\\x", b"\\N", b"\\u12", b"\\N{BULLET}", b"{0}{}%s%n", b"{open('HIT','w')}",
    b"a\nb", b"a\rb", b"a\r\nb", b"a\n#error run", b"a\r#error run", b"*/ #error run /*", b"\n};#error run\n", b"// \\\n#error run",
    b"?" b"?/", b"?" b"?/\n#error run", b"?" b"?'?" b"?(", b"tab\there", b"a\x0b\x0cb", b"a\x00b", b"\x00", b"\x1b[31mred\x07", b"\x7f",
    "a\u2028#error run\u2029b".encode(), "a\u0085b".encode(), "\u202etxt.exe\u2066".encode(), "\u200f\u061c".encode(), "\ufeffa".encode(),
    "\ufffe\uffff".encode(), "\U0001fffe\U0010ffff".encode(), "é 中文 \U0001f600".encode(),
    b"\xff", b"a\xc3(", b"\xe4\xb8", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"</script><script>open('HIT')</script>", b"<!--<script>", b"-->", b"]]>", b"<![CDATA[", b"&lt;&amp;&#60;", b"<img src=x onerror=alert(1)>",
    b"' onload='alert(1)", b"\" onload=\"alert(1)", b"</title></svg>", b"\\end{document}\\input{HIT}", b"\\write18{touch HIT}", b"$x$ %c #1 _s ^t ~u &v {w}",
    b"--- ``q'' ?`", b"| a | b |", b"# heading", b"- item", b"1. item", b"1) item", b"> quote", b"    code", b"`code` *i* **b** _u_ ~~s~~",
    b"[link](javascript:alert(1))", b"![x](y)", b"<b>", b"snake_case _x", b"***", b"===", b"$(touch HIT)", b"`touch HIT`", b"; touch HIT", b"a'$(touch HIT)'b",
    b"!x $HOME ~ * ? [a]", b"-x", b"--out", b"a b", b"]'\"\"\"'''\\", b"p + \"x\"", b"x\"]; touch(); w[\"",
]
EXACT = [t.decode("utf-8", "surrogateescape") for t in TEXTS]
REPLACED = [t.decode("utf-8", "replace") for t in TEXTS]


def visible(text):  # as the head of escape.hpp says
    codes = [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDD00)]
    return re.sub("[" + "".join(map(chr, codes)) + "]",
                  lambda c: "".join(f"\\x{b:02x}" for b in c[0].encode("utf-8", "surrogateescape")), text)


def in_xml(text):  # characters that XML forbids become U+FFFD
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\udc80-\udcff]", "\ufffd", text)


VISIBLE, XML = [visible(t) for t in EXACT], [in_xml(t) for t in EXACT]
failed = 0


def check(name, found, expected):
    global failed
    if found == expected:
        return
    failed += 1
    if isinstance(found, list) and len(found) == len(expected):
        found, expected = next((f, e) for f, e in zip(found, expected) if f != e)
    print(f"{name}: {str(found)[-1000:]!r} in place of {str(expected)[-1000:]!r}")


def run(*words, **options):
    return subprocess.run([w if isinstance(w, bytes) else str(w) for w in words], capture_output=True, **options)


class Html(html.parser.HTMLParser):  # the text of some elements; a script element that is not ours is noted
    def __init__(self, page):
        super().__init__()
        self.text, self.open, self.tags, self.handlers = {}, [], {}, 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.open.append("data" if ("id", "data") in attributes else tag)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.handlers += sum(name.startswith("on") for name, _ in attributes)
        self.text.setdefault(self.open[-1], []).append("")

    def handle_endtag(self, tag):
        if self.open and self.open[-1] in (tag, "data"):
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]][-1] += data


def of_cpp(literals, comments):  # the bytes of the literals; a line below each comment counts
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "t.cpp")
        source.write_text("#include <cstdio>\nint lines = 0;\n" + "".join(f'static const char t{k}[] = "{t}";\n' for k, t in enumerate(literals)) +
                          "static void show(const char* t, unsigned long n) { while (n-- > 0) std::printf(\"%02x\", (unsigned char)*t++); std::puts(\"\"); }\n"
                          "int main() {\n" + "".join(f"  // {t}\n  ++lines;\n" for t in comments) +
                          "".join(f"  show(t{k}, sizeof t{k} - 1);\n" for k in range(len(literals))) + '  std::printf("%d\\n", lines);\n}\n', newline="")
        done = run(*os.environ.get("CXX", "c++").split(), "-std=c++20", "-trigraphs", "-Wall", "-Wextra", "-Werror", source, "-o", folder + "/t")
        if done.returncode:
            return done.stderr.decode()
        return run(folder + "/t").stdout.decode().split("\n")[:-1]


def of_markdown(text):  # what is shown; None if a sign has its meaning
    bare = re.sub(r"\\.", "", text)
    if "\n" in text or re.search(r"[`*\[\]<>|~$\\]|&(?!#32;)", bare) or re.match(r"[#+=-]|\s|\d+[.)]", text):
        return None
    if re.search(r"(?<!\w)_|_(?!\w)", re.sub(r"\\.", ".", text)):
        return None
    return re.sub(r"\\(.)", r"\1", text.replace("&#32;", " "))


def of_latex(text):  # what is shown; None if a command is not one of these
    names = {"\\textbackslash{}": "\\", "\\textasciicircum{}": "^", "\\textasciitilde{}": "~", "\\textless{}": "<", "\\textgreater{}": ">",
             "\\textbar{}": "|", "{}": "", **{"\\" + c: c for c in "{}$&#_%"}}
    shown = ""
    while text:
        sign = next((s for s in names if text.startswith(s)), text[0])
        if sign not in names and (sign in "\\{}$&#_%^~<>|" or sign + text[1:2] in ("--", "``", "''", "?`", "!`")):
            return None
        shown += names.get(sign, sign)
        text = text[len(sign):]
    return shown


def functions(escaped):
    check("visible", escaped["visible"], VISIBLE)
    check("Python", [ast.literal_eval(f'"{t}"') for t in escaped["python"]], EXACT)
    check("Python, three quotes", [ast.literal_eval(f'"""{t}"""') for t in escaped["python"]], EXACT)
    lines = of_cpp(escaped["cpp"], escaped["cpp_comment"])
    check("C++", lines, [t.hex() for t in TEXTS] + [str(len(TEXTS))])
    check("XML", ["".join(xml.fromstring(f"<a>{t}</a>").itertext()) for t in escaped["xml"]], XML)
    check("XML attribute", [xml.fromstring(f'<a b="{t}"/>').get("b") for t in escaped["xml"]], XML)
    check("script", [t for t in escaped["script"] if "<" in t], [])
    check("JSON", [json.loads(t) for t in escaped["script"]], REPLACED)
    check("TOML", [tomllib.loads("a = " + t)["a"] for t in escaped["toml"]], REPLACED)
    check("Markdown", [of_markdown(t) for t in escaped["markdown"]], VISIBLE)
    check("LaTeX", [of_latex(t) for t in escaped["latex"]], VISIBLE)
    # A word of a shell has no NUL.
    check("csv", [row[0] for row in csv.reader(io.StringIO("\n".join(escaped["csv"]), newline=""))], [re.sub("[\udc80-\udcff]", "\ufffd", t) for t in EXACT])
    words = [t.encode("latin-1") for t in escaped["shell"] if "\0" not in t]
    done = run("sh", "-c", b"printf '%s\\0' " + b" ".join(words))
    check("shell", done.stdout.split(b"\0")[:-1], [t for t in TEXTS if b"\0" not in t])
    shown = [w for w, t in zip(escaped["typed"], EXACT) if "\0" not in t]
    check("typed", typed(" ".join(shown)), [t for t in EXACT if "\0" not in t])
    check("typed is visible", [w for w in shown if any(ord(c) < 32 or c in "\x7f\u2028\u202e" for c in w)], [])


def typed(words):
    """The words that Bash reads."""
    return [os.fsdecode(w) for w in run("bash", "-c", f"printf '%s\\0' {words}").stdout.split(b"\0")[:-1]]


def files(files, root):
    svg = xml.fromstring(files["svg"])
    space = "{http://www.w3.org/2000/svg}"
    check("SVG", [t.text or "" for t in svg.iter(space + "text")], XML)
    check("SVG title", svg.find(space + "title").text, "".join(XML))
    junit = xml.fromstring(files["junit"])
    check("JUnit", [t.get("message") for t in junit.iter("failure")], ["wrong: " + t for t in XML])
    page = Html(files["page"])
    check("page", json.loads(page.text["data"][0]), REPLACED)
    check("page title", page.text["title"], ["".join(XML)])
    sheet = Html(files["html"])
    check("sheet", [sheet.text["p"], sheet.handlers, sheet.tags.get("script", 0), sheet.tags.get("img", 0)], [XML, 0, 0, 0])
    lines = files["markdown"].split("\n")
    check("sheet in Markdown", [of_markdown(t) for t in lines[2:2 + 2 * len(TEXTS):2]], VISIBLE)
    seen = [t for t in VISIBLE if t.strip()]
    check("sheet in LaTeX", [of_latex(t) for t in files["latex"].split("}\n", 6)[-1].split("\n\n") if t.strip()][:len(seen)], seen)
    program = ast.parse(files["numpy"])
    names = [n.slice.value for n in ast.walk(program) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)]
    check("NumPy's names", [t for t in EXACT if t not in names and t], [])
    check("NumPy's head", ast.get_docstring(program, clean=False).count("".join(EXACT)), 2)
    done = run(*os.environ.get("CXX", "c++").split(), "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", "-I", root, "-x", "c++", "-",
               input=files["cpp"].encode())
    check("program in C++", done.stderr.decode(), "")
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', files["dot"])
    check("Graphviz", sum(t.startswith(REPLACED[3].replace('"', '\\"')) for t in labels), 1)
    rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", files["dot"])
    check("Graphviz outside of its labels", re.sub(r"n\d+|label=|shape=\w+|fontsize=10|digraph tape|node|style=dashed|subgraph|->|[\s{};,\[\]]", "", rest), "")


def commands(glim, root):
    sentence = 'a """ + open("HIT", "w") + """ \\x \\N \\\r\n#error run \u2028 \u202e ?' '?/\n*/ </script><!-- \\input{HIT} | `b` *i* $x$ \'$(touch HIT)\' \\'
    name = sentence.replace("/", "") + "\ufffe"
    trained = run(glim, "train", "--kind", "gpt", "--max-steps", 1, "--block", 160, "--d-model", 8, "--layers", 1, "--heads", 1, "--d-ff", 8, "--record", "--out", name)
    advice = trained.stdout.decode()
    check("advice", typed(advice[advice.find("glim report"):]), ["glim", "report", name])
    check("config.toml", tomllib.loads(pathlib.Path(name, "config.toml").read_text())["out"], name)
    again = run(glim, "train", "--config", pathlib.Path(name, "config.toml"), "--show-config").stdout.decode()
    check("--show-config", tomllib.loads(again)["out"], name)
    run(glim, "report", name, "--out", "report.html")
    report, name = name, name + "\udcff"  # a byte that is not UTF-8, which training refuses
    os.rename(report, name)
    for form in ("numpy", "cpp", "html", "latex", "markdown"):
        done = run(glim, "derive", "--model", name, "--sentence", sentence, "--scale", 0.5, "--format", form, "--out", form)
        check(f"derive --format {form}", done.stderr.decode(), "")
    program = pathlib.Path("numpy/backward.py")
    head = ast.get_docstring(ast.parse(program.read_bytes()), clean=False)
    check("derive's head", head.startswith(f"gpt, trained ({name})"), True)
    line = head[head.index("`glim derive") + 1:head.rindex("`. NumPy")]
    check("derive's command", typed(line), ["glim", "derive", "--format", "numpy", "--model", name, "--sentence", sentence, "--scale", "0.5"])
    if importlib.util.find_spec("numpy"):
        done = run(sys.executable, program)
        check("derive's program", [done.returncode, b"loss" in done.stdout, done.stderr], [0, True, b""])
    else:
        print("NumPy is not installed (python3-numpy): derive's program was not run")
    done = run(*os.environ.get("CXX", "c++").split(), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", root, "cpp/backward.cpp")
    check("derive's program in C++", done.stderr.decode(), "")
    page = Html(pathlib.Path("html").read_text())
    check("derive's page", [page.text["h1"][0], page.tags.get("script", 0)], [in_xml(f"gpt, trained ({name})"), 0])
    # A value that begins with -- is given behind =.
    done = run(glim, "derive", "--kind", "gpt", "--sentence=--a b", "--format", "markdown", "--scale", 0.5)
    check("an option's value like an option", "--sentence='--a b'" in done.stdout.decode(), True)
    run(glim, "inspect", "--model", name, "--sentence", sentence, "--out", "page")
    for file, title in (("report.html", in_xml("Training run " + report)), ("page/inspect.html", "glim inspect: ")):
        page = Html(pathlib.Path(file).read_text())
        json.loads(page.text["data"][0])
        check(file, [page.text["title"][0][:len(title)], page.handlers], [title, 0])
    check("files", sorted(p.name for p in pathlib.Path().iterdir() if p.name == "HIT"), [])


glim, escaped, root = map(os.path.realpath, sys.argv[1:4])
done = run(escaped, input="".join(t.hex() + "\n" for t in TEXTS), text=True)
if done.returncode:
    sys.exit(f"{escaped}: {done.stderr}")
found = json.loads(done.stdout)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    functions(found)
    files(found["files"], root)
    commands(glim, root)
    os.chdir("/")
print(f"{len(TEXTS)} texts, {failed} failed")
sys.exit(failed > 0)
