#!/usr/bin/env python3
"""Manual pages, completions for shells and the pages of options, of what `glim describe` says of every verb.

    describe.py GLIM man [VERB] | bash | zsh | fish | options | configuration | verbs | names VERB
"""
import json
import subprocess
import sys


def defaults(verb):
    """By option: "2; rnn, classifier 1; conv 3", the first kind's value and those that differ."""
    by_kind = [d for d in verb["defaults"] if not d["task"]]
    first = by_kind.pop(0)
    found = {}
    for d in by_kind or [first]:
        for name, value in d["values"].items():
            value = first["values"]["kind"] if name == "kind" else value
            if value:
                found.setdefault(name, {}).setdefault(value, []).append(d["kind"])
    return {name: "; ".join(value if i == 0 else f"{', '.join(kinds)} {value}"
                            for i, (value, kinds) in enumerate(values.items())) for name, values in found.items()}


def recipes(verb):
    """By kind and task, the options that differ from those of the kind's first task."""
    usual = {d["kind"]: d["values"] for d in verb["defaults"] if not d["task"]}
    for d in verb["defaults"]:
        differ = [f"{name} {value or 'not given'}" for name, value in d["values"].items()
                  if d["task"] and name not in ("kind", "task") and value != usual[d["kind"]][name]]
        if differ:
            yield {"kind": d["kind"], "task": d["task"], "options": ", ".join(differ)}


def grouped(options):
    groups = {}
    for o in options:
        groups.setdefault(o["group"], []).append(o)
    return groups.items()


# ---- completions: what a shell offers at the tab key ----

def named(verb):
    return [o for o in verb["options"] if not o["argument"]]


def is_flag(option):
    return not option["value"]


def names_files(option):
    return option["value"] in ("FILE", "FOLDER", "TEXT")


def joined_verbs(all):
    return " ".join([v["name"] for v in all["verbs"]] + ["help"])


def quoted(text, zsh=False):
    """In single quotes for a shell; zsh's _arguments reads : [ ] itself."""
    return "'" + "".join("'\\''" if c == "'" else "\\" + c if c == "\\" or (zsh and c in ":[]") else c
                         for c in text) + "'"


BASH = r"""# Completions of NAME for bash, made of its own options.
_NAME() {
  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}
  local options= words= files= arguments=
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [ "$verb" = help ]; then
    mapfile -t COMPREPLY < <(compgen -W 'VERBS' -- "$cur")
    return
  fi
  # --norm=pre comes as three words
  if [ "$cur" = = ]; then cur= ; elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  case $verb in
OPTIONS  esac
  case "$verb $before" in
VALUES  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  elif [ -z "$files" ] && [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [ -z "$files" ] && [ -n "$arguments" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$cur")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _NAME NAME
"""

ZSH = r"""#compdef NAME
# Completions of NAME for zsh, made of its own options.
_NAME() {
  local -a verbs
  verbs=(
VERBS    'help:the options of a verb'
  )
  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
CASES  esac
}
_NAME "$@"
"""


def filled(template, **parts):
    for name, text in parts.items():
        template = template.replace(name, text)
    return template


def bash(all):
    options = values = ""
    for v in all["verbs"]:
        arguments = "".join(f" arguments='{' '.join(o['choices'])}'" for o in v["options"]
                            if o["argument"] and o["choices"])
        names, files = [f"--{o['name']}" for o in named(v)], []
        names += ["--show-config"] * v["config"] + ["--help-all"] * v["help_all"] + ["--help"]
        for o in named(v):
            word = f"{v['name']}\\ --{o['name']}"
            if o["choices"]:
                values += f"    {word}) words='{' '.join(o['choices'])}' ;;\n"
            elif names_files(o):
                files.append(word)
            elif not is_flag(o):
                values += f"    {word}) return ;;\n"
        options += f"    {v['name']}) options='{' '.join(names)}'{arguments} ;;\n"
        if files:
            values += f"    {' | '.join(files)}) files=1 ;;\n"
    return filled(BASH, VERBS=joined_verbs(all), OPTIONS=options, VALUES=values, NAME=all["name"])


def zsh(all):
    verbs = cases = ""
    for v in all["verbs"]:
        verbs += "    " + quoted(v["name"] + ":" + v["help"]) + "\n"
        specs = []
        for o in v["options"]:
            choices = f"({' '.join(o['choices'])})" if o["choices"] else ""
            if o["argument"]:
                specs.append(f"*:{o['name']}:{choices or '_files'}")
                continue
            action = "" if is_flag(o) else f":{o['value']}:{choices or ('_files' if names_files(o) else ' ')}"
            specs.append(f"--{o['name']}{'' if is_flag(o) else '='}[{quoted(o['help'], True)[1:-1]}]{action}")
        specs += ["--show-config[print the configuration]"] * v["config"]
        specs += ["--help-all[all options]"] * v["help_all"] + ["--help[the options]"]
        cases += f"    {v['name']})\n      _arguments" + "".join(f" \\\n        '{s}'" for s in specs) + "\n      ;;\n"
    return filled(ZSH, VERBS=verbs, CASES=cases, NAME=all["name"])


def fish(all):
    name = all["name"]
    text = f"# Completions of {name} for fish, made of its own options.\n"
    none = f"complete -c {name} -n 'not __fish_seen_subcommand_from {joined_verbs(all)}' -f"
    for v in all["verbs"]:
        text += f"{none} -a {v['name']} -d {quoted(v['help'])}\n"
    text += none + " -a help -d 'the options of a verb'\n"
    for v in all["verbs"]:
        command = f"complete -c {name} -n '__fish_seen_subcommand_from {v['name']}'"
        for o in v["options"]:
            choices = quoted(" ".join(o["choices"]))
            if o["argument"]:
                text += f"{command} -f -a {choices}\n" if o["choices"] else ""
                continue
            value = (f" -x -a {choices}" if o["choices"] else "" if is_flag(o) else
                     " -r -F" if names_files(o) else " -x")
            text += f"{command} -l {o['name']}{value} -d {quoted(o['help'])}\n"
        if v["config"]:
            text += command + " -l show-config -d 'print the configuration'\n"
        if v["help_all"]:
            text += command + " -l help-all -d 'all options'\n"
        text += command + " -l help -d 'the options'\n"
    return text


# ---- manual pages, in roff's man macros ----

def roff(text):
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def heading(all, name, what):
    return (f'.TH "{roff(name)}" 1 "" "{all["name"]} {all["version"]}" "Glim"\n'
            f".SH NAME\n{roff(name)} \\- {roff(what)}\n")


def manual(all):
    page = heading(all, all["name"], "train, use, measure and check Transformers")
    page += f".SH SYNOPSIS\n.B {all['name']}\n\\fIVERB\\fR [\\fIOPTIONS\\fR]\n"
    page += f".SH DESCRIPTION\n.nf\n{roff(all['text'])}.fi\n.SH VERBS\n"
    for v in all["verbs"]:
        page += f".TP\n\\fB{roff(v['name'])}\\fR\n{roff(v['help'])}\n"
    page += r""".SH ENVIRONMENT
.TP
\fBOMP_NUM_THREADS\fR
number of threads; any number gives the same results
.TP
\fBGLIM_ISA\fR
instruction set of the kernels: baseline, avx2 or avx512
.TP
\fBGLIM_GEMM\fR
which GEMM computes large products where --gemm does not say: builtin or openblas
.SH EXIT STATUS
0 done; 1 an error, which standard error says in one line; 2 wrong usage; 130 interrupted
"""
    also = ",\n".join(f".BR {roff(all['name'] + '-' + v['name'])} (1)" for v in all["verbs"])
    return page + ".SH SEE ALSO\n" + also + "\n"


def manual_of(all, v):
    call = all["name"] + " " + v["name"]
    page = heading(all, all["name"] + "-" + v["name"], v["help"])
    page += f".SH SYNOPSIS\n.B {roff(call)}\n[\\fIOPTIONS\\fR]"
    page += "".join(" " + roff(o["usage"]) for o in v["options"] if o["argument"])
    page += "\n.SH OPTIONS\n"
    for group, options in grouped(v["options"]):
        page += f".SS {roff(group)}\n"
        for o in options:
            page += f".TP\n\\fB{roff(o['usage'])}\\fR\n{roff(o['full_help'])}.\n"
            if o["kinds"]:
                page += roff(f"Kinds: {o['kinds']}.\n")
            if o["default"]:
                page += roff(f"Default: {o['default']}.\n")
    if v["recipes"]:
        page += ".SH DEFAULTS BY TASK\n"
    for r in v["recipes"]:
        page += ".TP\n" + roff(f"--kind {r['kind']} --task {r['task']}") + f"\n{roff(r['options'])}\n"
    if v["footer"]:
        page += f".SH NOTES\n.nf\n{roff(v['footer'])}\n.fi\n"
    return page + f".SH SEE ALSO\n.BR {roff(all['name'])} (1)\n"


# ---- pages, in Markdown ----

def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def generated(what):
    return f"Made by `tools/cli/describe/describe.py build/tools/glim {what}`, from the program's own tables.\n"


def options_page(all):
    name = all["name"]
    page = "# Every option of every verb\n\n" + generated("options")
    page += (f"`{name} VERB --help` says the same of one verb, `{name} train --kind gpt --help` with the defaults of "
             "one kind\nof model. Where kinds differ, the first default is the Transformer's. Options without a "
             "default are off or empty.\n")
    for v in all["verbs"]:
        page += f"\n## {name} {v['name']}\n\n{v['help']}\n"
        by_kind = v["by_kind"]
        for group, options in grouped(v["options"]):
            page += f"\n| {group} | meaning | default |{' kinds |' if by_kind else ''}\n"
            page += f"|---|---|---|{'---|' if by_kind else ''}\n"
            for o in options:
                page += f"| `{o['usage']}` | {cell(o['full_help'])} | {cell(o['default'])} |"
                page += (f" {o['kinds']} |" if by_kind else "") + "\n"
        if v["recipes"]:
            page += "\nOther tasks have other defaults:\n\n| kind | task | defaults |\n|---|---|---|\n"
        for r in v["recipes"]:
            page += f"| {r['kind']} | {r['task']} | {cell(r['options'])} |\n"
    return page


CONFIGURATION = """
A configuration is a file of `name = value` lines, in TOML: text in quotes, numbers, `true` and `false`, lists in
brackets, comments behind `#`. The names are those of the options without their dashes. They are under no table
or under that of the verb, `[train]`. The command line overrides the file. Other options have the default of the
kind of model and of the task.

```sh
NAME train --kind gpt --text README.md --show-config >run.toml     # every value, and where it comes from
NAME train --config run.toml --seed 2 --max-steps 20 --out short   # --seed of the command line is used
```

A run leaves its own in `config.toml` beside the model. An unknown name or table, a value out of its range and
an option of another kind of model, unless it has its default, are refused with file and line.
"""


def value_type(o):
    return ("true or false" if is_flag(o) else "list of texts" if o["list"] else "text" if o["text"] else
            "number" if o["value"] == "X" else "whole number")


def configuration_page(all):
    page = "# Configuration files\n\n" + generated("configuration") + filled(CONFIGURATION, NAME=all["name"])
    for v in all["verbs"]:
        if not v["config"]:
            continue
        page += f"\n## {all['name']} {v['name']} --config FILE\n"
        for group, options in grouped([o for o in v["options"] if o["in_config"]]):
            page += f"\n| {group} | value | meaning | kinds | default |\n|---|---|---|---|---|\n"
            for o in options:
                page += (f"| `{o['name']}` | {value_type(o)} | {cell(o['full_help'])} | {o['kinds']} | "
                         f"{cell(o['default'])} |\n")
    return page


def main():
    glim, what, *verb = sys.argv[1:]
    all = json.loads(subprocess.run([glim, "describe"], stdout=subprocess.PIPE, check=True).stdout)
    for v in all["verbs"]:
        v["recipes"] = list(recipes(v))
        texts = defaults(v)
        for o in v["options"]:
            o["default"] = texts.get(o["name"], "")
    texts = {"man": manual, "bash": bash, "zsh": zsh, "fish": fish, "options": options_page,
             "configuration": configuration_page, "verbs": lambda all: "".join(v["name"] + "\n" for v in all["verbs"])}
    of_verb = {"man": manual_of, "names": lambda all, v: "".join(o["name"] + "\n" for o in named(v))}
    if verb:
        sys.stdout.write(of_verb[what](all, next(v for v in all["verbs"] if v["name"] == verb[0])))
    else:
        sys.stdout.write(texts[what](all))


main()
